// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/rules.hpp"

#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "text/glob.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <sstream>

namespace tool::tracing {

namespace {

constexpr char file[] = "user_events_rules";

std::string remedy_for(int error, bool removes) {
    switch (error) {
    case EINVAL:
        return "a rule is PATTERN[ OPTION]...[ if FILTER] or PATTERN[ OPTION]... trigger TRIGGER, "
               "of up to 2048 characters, with options such as instance=NAME and pid=N; the "
               "kernel log says what is wrong";
    case ENOENT:
        if (!has_rules())
            return remedy_without_rules();
        return removes ? "`user-events rules list` lists the rules"
                       : "a process that pid= names has ended, or is a thread";
    case ENOSPC:
        return "63 sets of options for programs are in use: `user-events rules list` lists the "
               "rules, of which some have to go first";
    case EOPNOTSUPP:
        return "this kernel lacks memory cgroups (CONFIG_MEMCG), which rules for some programs "
               "need; `user-events watch --pid PID --children` does without";
    case EBUSY:
        return removes
                   ? "another histogram uses its variables: remove that rule first"
                   : "an earlier rule records one of the events in this instance, for other "
                     "programs and with another filter or limit; the kernel log names the rule. "
                     "Use the same filter and limit, or another instance";
    default:
        return text::remedy_for(error, instance::top().path(file));
    }
}

/// Writes a line to the file.
void change(const std::string& change, std::string_view doing) {
    if (change.find('\n') != change.npos)
        throw text::usage_error("a rule is one line");
    const int error = instance::top().try_append(file, change + "\n");
    if (error == 0)
        return;
    const bool removes = change.starts_with('!');
    throw text::failure(fmt::format("cannot {} the rule \"{}\": {}", doing,
                                    change.substr(removes ? 1 : 0), std::strerror(error)),
                        remedy_for(error, removes));
}

} // namespace

bool has_rules() {
    return instance::top().has(file);
}

std::string remedy_without_rules() {
    return has_user_events() ? "only the kernel module has rules, not the kernel's own user_events"
                             : remedy_without_user_events();
}

std::string pattern_of(const event_name& name) {
    std::string result = name.system + ":";
    for (const char character : recording::registered_name(name.system, name.event)) {
        if (text::glob_characters.find(character) != text::glob_characters.npos)
            result += '\\';
        result += character;
    }
    return result;
}

std::vector<listed_rule> rules() {
    std::istringstream lines(instance::top().read(file));
    std::vector<listed_rule> result;
    for (std::string line; std::getline(lines, line);) {
        auto [rule, comment] = to_rule(line);
        result.push_back({std::move(rule), std::move(comment)});
    }
    return result;
}

std::vector<listed_rule> rules_if_readable() {
    try {
        return has_rules() ? rules() : std::vector<listed_rule>();
    } catch (const text::failure&) {
        return {};
    }
}

void add_rule(const std::string& text) {
    change(text, "add");
}

void remove_rule(const std::string& text) {
    change("!" + text, "remove");
}

void remove_rules_of(const std::string& instance) {
    for (const rule& each : rules_if_readable())
        if (each.options[rule::instance] == instance)
            (void)tracing::instance::top().try_append(file, "!" + each.text() + "\n");
}

void load_group(const std::string& text) {
    static constexpr char groups[] = "user_events_groups";
    const int error = instance::top().try_append(groups, text + "\n");
    if (error)
        throw text::failure(
            fmt::format("cannot add the group \"{}\": {}", text, std::strerror(error)),
            error == EINVAL ? "a group is NAME[ OPTION]..., with options such as max=N, gid=N and "
                              "mode=0660; the kernel log says what is wrong"
                            : text::remedy_for(error, instance::top().path(groups)));
}

std::string failure_of_rule(const rule& of) {
    for (const listed_rule& each : rules())
        if (each == of)
            if (const auto at = each.comment.find("failed for "); at != each.comment.npos)
                return each.comment.substr(at);
    return {};
}

temporary_rule::temporary_rule(rule added) : rule_(std::move(added)) {
    const auto all = rules();
    if (std::none_of(all.begin(), all.end(), [&](const rule& each) { return is(each); }))
        add_rule(rule_->text());
}

temporary_rule::~temporary_rule() {
    if (!rule_)
        return;
    try {
        remove_rule(rule_->text());
    } catch (const text::failure& error) {
        text::warn(error.what(), error.remedy());
    }
}

} // namespace tool::tracing
