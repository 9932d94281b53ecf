// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/rule.hpp"

#include "recording/event_type.hpp"
#include "text/glob.hpp"
#include "tracing/events.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace tool::tracing {

namespace {

/// By their numbers.
constexpr std::string_view option_names[] = {
    "group=", "instance=", "max=", "limit=", "sample=", "pid=", "uid=", "comm=", "exe=", "cgroup="};
static_assert(std::size(option_names) == rule::option_count);

std::string_view take_word(std::string_view& from) {
    from = trimmed(from);
    const std::string_view word = from.substr(0, from.find_first_of(spaces));
    from.remove_prefix(word.size());
    return word;
}

/// Where a comment begins: at a # behind a space, but not in quotes.
std::size_t comment_in(std::string_view line) {
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); i++) {
        if (quote)
            quote = line[i] == quote ? '\0' : quote;
        else if (line[i] == '"' || line[i] == '\'')
            quote = line[i];
        else if (line[i] == '#' && (i == 0 || spaces.find(line[i - 1]) != spaces.npos))
            return i;
    }
    return line.size();
}

} // namespace

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(spaces);
    if (first == text.npos)
        return {};
    return text.substr(first, text.find_last_not_of(spaces) + 1 - first);
}

std::string rule::text_of_options(std::size_t first) const {
    std::string result;
    for (std::size_t i = first; i < option_count; i++)
        if (!options[i].empty())
            ((result += result.empty() ? "" : " ") += option_names[i]) += options[i];
    return result;
}

std::string rule::text() const {
    std::string result = pattern;
    const auto add = [&](std::string_view before, const std::string& part) {
        if (!part.empty())
            (result += before) += part;
    };
    add(" ", text_of_options(0));
    add(" if ", filter);
    add(" trigger ", trigger);
    return result;
}

std::uint32_t rule::sampled_of() const {
    constexpr std::string_view one_of = "1/";
    std::uint32_t number = 1;
    std::string_view text = options[sample];
    if (text.starts_with(one_of))
        text.remove_prefix(one_of.size());
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

bool rule::is_for(const event_name& name) const {
    const std::string_view all = pattern;
    const auto colon = all.find(':');
    const bool has_system = colon != all.npos;
    const std::string system(all.substr(0, has_system ? colon : 0)),
        event(all.substr(has_system ? colon + 1 : 0));
    // Of marks, a rule has to name the system as it is.
    if (name.system == recording::mark_system)
        return system == name.system && options[group].empty() &&
               text::is_glob_of(event, name.event);
    const bool is_in_group =
        has_system && options[group].empty()
            ? recording::is_registered_system(name.system)
            : recording::is_system_of(name.system,
                                      options[group].empty() ? "default" : options[group]);
    return is_in_group && (!has_system || text::is_glob_of(system, name.system)) &&
           text::is_glob_of(event, recording::registered_name(name.system, name.event));
}

std::pair<rule, std::string> to_rule(std::string_view line) {
    rule result;
    std::string_view rest = line;
    result.pattern = take_word(rest);
    for (auto word = take_word(rest); !word.empty(); word = take_word(rest)) {
        if (word.starts_with('#')) {
            const auto comment = static_cast<std::size_t>(word.data() + 1 - line.data());
            return {std::move(result), std::string(trimmed(line.substr(comment)))};
        }
        if (word == "if" || word == "trigger") {
            const auto comment = comment_in(rest);
            (word == "if" ? result.filter : result.trigger) = trimmed(rest.substr(0, comment));
            return {std::move(result),
                    std::string(trimmed(rest.substr(std::min(comment + 1, rest.size()))))};
        }
        const auto* const name =
            std::find_if(std::begin(option_names), std::end(option_names),
                         [&](std::string_view each) { return word.starts_with(each); });
        if (name != std::end(option_names))
            result.options[static_cast<std::size_t>(name - option_names)] =
                word.substr(name->size());
    }
    return {std::move(result), std::string()};
}

} // namespace tool::tracing
