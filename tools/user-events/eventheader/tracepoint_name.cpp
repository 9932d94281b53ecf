// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/tracepoint_name.hpp"

#include <algorithm>
#include <charconv>

namespace tool::eventheader {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_capital(char c) {
    return c >= 'A' && c <= 'Z';
}

/// Takes a letter and a number in lower-case hexadecimal digits.
template <typename Number>
bool take(std::string_view& from, char letter, Number& to) {
    if (!from.starts_with(letter))
        return false;
    const auto is_no_digit = [](char c) { return !is_digit(c) && (c < 'a' || c > 'f'); };
    const auto end = std::find_if(from.begin() + 1, from.end(), is_no_digit);
    const auto [at, error] = std::from_chars(from.begin() + 1, end, to, 16);
    if (error != std::errc() || at != end)
        return false;
    from.remove_prefix(static_cast<std::size_t>(end - from.begin()));
    return true;
}

bool are_options(std::string_view text) {
    const auto may_be = [](char c) {
        return is_capital(c) || is_digit(c) || (c >= 'a' && c <= 'z');
    };
    return text.empty() ||
           (is_capital(text.front()) && std::all_of(text.begin(), text.end(), may_be));
}

} // namespace

tracepoint_name to_tracepoint_name(std::string_view name) noexcept {
    const std::size_t split = name.rfind('_');
    if (split == name.npos)
        return {.provider = name};
    tracepoint_name result{.provider = name.substr(0, split)};
    std::string_view rest = name.substr(split + 1);
    if (!take(rest, 'L', result.level) || !take(rest, 'K', result.keyword) || !are_options(rest))
        return {.provider = name};
    result.options = rest;
    result.is_complete = true;
    return result;
}

std::string_view group_of(const tracepoint_name& name) noexcept {
    for (std::string_view rest = name.options; !rest.empty();) {
        const auto end = std::find_if(rest.begin() + 1, rest.end(), is_capital);
        const auto size = static_cast<std::size_t>(end - rest.begin());
        if (rest.front() == 'G')
            return rest.substr(1, size - 1);
        rest.remove_prefix(size);
    }
    return {};
}

} // namespace tool::eventheader
