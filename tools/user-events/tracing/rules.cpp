// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/rules.hpp"

#include "text/errors.hpp"
#include "tracing/events.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sstream>

namespace tool::tracing {

namespace {

constexpr char file[] = "user_events_rules";

/// Writes a line to the file. An error `accepted` is a success.
void change(const std::string& change, std::string_view doing, int accepted = 0) {
    const instance top = instance::top();
    if (change.find('\n') != change.npos)
        throw text::usage_error("a rule is one line");
    const int error = top.try_append(file, change + "\n");
    if (error == accepted)
        return;
    std::string remedy;
    switch (error) {
    case 0:
        return;
    case EINVAL:
        remedy = "a rule is PATTERN[ instance=NAME][ max=N][ if FILTER] or PATTERN[ instance=NAME]"
                 "[ max=N] trigger TRIGGER; the kernel log says what is wrong";
        break;
    case ENOENT:
        remedy = has_rules() ? "`user-events rules list` lists the rules"
                 : has_user_events()
                     ? "only the kernel module has rules, not the kernel's own user_events"
                     : remedy_without_user_events();
        break;
    case EEXIST:
        remedy = "nothing is left to do: the same rule exists";
        break;
    case EBUSY:
        remedy = "another histogram uses its variables: remove that rule first";
        break;
    default:
        remedy = text::remedy_for(error, top.path(file));
    }
    throw text::failure(fmt::format("cannot {} the rule \"{}\": {}", doing,
                                    change.substr(change.starts_with('!') ? 1 : 0),
                                    std::strerror(error)),
                        remedy);
}

} // namespace

bool has_rules() {
    return instance::top().has(file);
}

std::string rule_text(std::string_view pattern, std::string_view instance,
                      std::string_view filter) {
    std::string text(pattern);
    if (!instance.empty())
        text += fmt::format(" instance={}", instance);
    if (!filter.empty())
        text += fmt::format(" if {}", filter);
    return text;
}

std::vector<rule> rules() {
    std::istringstream lines(instance::top().read(file));
    std::vector<rule> result;
    for (std::string line; std::getline(lines, line);) {
        // The file's own comment is the last one.
        const auto mark = line.rfind(" # applied to ");
        result.push_back({line.substr(0, mark), mark == line.npos ? "" : line.substr(mark + 3)});
    }
    return result;
}

bool has_rule(const std::string& text) {
    const auto all = rules();
    return std::any_of(all.begin(), all.end(), [&](const rule& each) { return each.text == text; });
}

void add_rule(const std::string& text) {
    change(text, "add");
}

void load_rule(const std::string& text) {
    change(text, "add", EEXIST);
}

void remove_rule(const std::string& text) {
    change("!" + text, "remove");
}

std::string failure_of_rule(const std::string& text) {
    for (const rule& rule : rules())
        if (rule.text == text)
            if (const auto at = rule.comment.find("failed for "); at != rule.comment.npos)
                return rule.comment.substr(at);
    return {};
}

} // namespace tool::tracing
