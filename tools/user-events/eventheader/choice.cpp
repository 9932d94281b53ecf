// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/choice.hpp"

#include "eventheader/tracepoint_name.hpp"
#include "eventheader/words.hpp"
#include "text/errors.hpp"
#include "text/glob.hpp"
#include "text/nearest.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::eventheader {

namespace {

constexpr std::uint8_t most_severe = 1, least_severe = 5;
/// In a keyword.
constexpr int most_digits = 16;
constexpr std::string_view digits = "0123456789abcdef";

std::string level_glob(const std::optional<std::uint8_t>& level) {
    if (!level)
        return "[0-9a-f]*";
    if (*level >= digits.size())
        return "*"; // two digits are left to includes()
    return fmt::format("[{}]", digits.substr(0, *level + std::size_t{1}));
}

/// The digits that have one of the bits.
std::string digits_with(unsigned bits) {
    std::string result;
    for (unsigned digit = 0; digit < digits.size(); digit++)
        if (digit & bits)
            result += digits[digit];
    return result;
}

/// What may follow the "K".
std::vector<std::string> keyword_globs(std::uint64_t keyword) {
    if (keyword == 0)
        return {"[0-9a-f]*"};
    // Behind the keyword there may be options.
    std::vector<std::string> result{"0", "0[A-Z]*"};
    for (int place = 0; place < most_digits; place++) {
        const auto bits = static_cast<unsigned>(keyword >> 4 * place & 0xf);
        if (bits == 0)
            continue;
        std::string glob = fmt::format("*[{}]", digits_with(bits));
        for (int i = 0; i < place; i++)
            glob += "[0-9a-f]";
        result.push_back(glob);
        result.push_back(glob + "[A-Z]*");
    }
    return result;
}

} // namespace

bool choice::includes(std::string_view tracepoint) const noexcept {
    if (is_all())
        return true;
    const tracepoint_name name = to_tracepoint_name(tracepoint);
    return name.is_complete && (!level || name.level <= *level) &&
           (keyword == 0 || name.keyword == 0 || (name.keyword & keyword) != 0);
}

std::vector<std::string> level_names() {
    std::vector<std::string> names;
    for (std::uint8_t level = most_severe; level <= least_severe; level++)
        names.emplace_back(level_name(level));
    return names;
}

std::uint8_t to_level(std::string_view text) {
    if (const auto number = text::to_number<std::uint8_t>(text))
        return *number;
    const auto names = level_names();
    const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
        return !text.empty() && name.starts_with(text);
    });
    if (found != names.end())
        return static_cast<std::uint8_t>(most_severe + (found - names.begin()));
    throw text::usage_error(
        fmt::format("there is no level {}", text),
        text::did_you_mean(
            text, names,
            fmt::format("the levels are {}, or a number up to 255", fmt::join(names, ", "))));
}

std::uint64_t to_keyword(std::string_view text) {
    const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (const auto number = text::to_number<std::uint64_t>(text.substr(is_hexadecimal ? 2 : 0),
                                                           is_hexadecimal ? 16 : 10);
        number.value_or(0))
        return *number;
    if (!is_hexadecimal && text::to_number<std::uint64_t>(text, 16).value_or(0))
        throw text::usage_error(fmt::format("{} is no keyword", text),
                                fmt::format("did you mean \"0x{}\"?", text));
    throw text::usage_error(fmt::format("{} is no keyword", text.empty() ? "\"\"" : text),
                            "a keyword is a number of up to 64 bits that is not 0, such as 0x1f");
}

std::vector<std::string> tracepoint_globs(std::string_view provider, const choice& choice) {
    std::vector<std::string> result;
    for (const std::string& keyword : keyword_globs(choice.keyword))
        result.push_back(fmt::format("{}_L{}K{}", provider, level_glob(choice.level), keyword));
    return result;
}

event_pattern::event_pattern(std::string_view text) {
    if (const auto colon = text.find(':'); colon != text.npos) {
        provider_ = text.substr(0, colon);
        event_ = text.substr(colon + 1);
    }
}

bool event_pattern::may_match(std::string_view tracepoint) const {
    const tracepoint_name name = to_tracepoint_name(tracepoint);
    return name.is_complete && text::is_glob_of(provider_, name.provider);
}

bool event_pattern::matches_event(std::string_view provider, const std::string& event) const {
    return text::is_glob_of(provider_, provider) && text::is_glob_of(event_, event);
}

bool event_pattern::matches(std::string_view tracepoint, const std::string& event) const {
    return may_match(tracepoint) && text::is_glob_of(event_, event);
}

} // namespace tool::eventheader
