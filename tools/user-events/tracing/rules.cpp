// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/rules.hpp"

#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fnmatch.h>
#include <iterator>
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
        return "64 sets of options for programs are in use: `user-events rules list` lists the "
               "rules, of which some have to go first";
    case EOPNOTSUPP:
        return "this kernel lacks memory cgroups (CONFIG_MEMCG), which rules for some programs "
               "need; `user-events watch --pid PID --children` does without";
    case EEXIST:
        return "nothing is left to do: the same rule exists";
    case EBUSY:
        return "another histogram uses its variables: remove that rule first";
    default:
        return text::remedy_for(error, instance::top().path(file));
    }
}

/// Writes a line to the file. An error `accepted` is a success.
void change(const std::string& change, std::string_view doing, int accepted = 0) {
    if (change.find('\n') != change.npos)
        throw text::usage_error("a rule is one line");
    const int error = instance::top().try_append(file, change + "\n");
    if (error == 0 || error == accepted)
        return;
    const bool removes = change.starts_with('!');
    throw text::failure(fmt::format("cannot {} the rule \"{}\": {}", doing,
                                    change.substr(removes ? 1 : 0), std::strerror(error)),
                        remedy_for(error, removes));
}

/// Finds the parts of the text, which the kernel has accepted.
void parse(rule& parsed) {
    static constexpr std::string_view of_programs[] = {"pid=", "uid=", "comm=", "exe=", "cgroup="};
    static constexpr std::string_view of_instance = "instance=", of_group = "group=";
    std::istringstream words(parsed.text);
    words >> parsed.pattern;
    for (std::string word; words >> word && word != "if";) {
        if (word == "trigger") {
            parsed.is_trigger = true;
            return;
        }
        if (word.starts_with(of_instance))
            parsed.instance = word.substr(of_instance.size());
        if (word.starts_with(of_group))
            parsed.group = word.substr(of_group.size());
        if (std::any_of(std::begin(of_programs), std::end(of_programs),
                        [&](std::string_view option) { return word.starts_with(option); }))
            parsed.programs += (parsed.programs.empty() ? "" : " ") + word;
    }
}

bool glob(const std::string& wanted, std::string_view name) {
    return fnmatch(wanted.c_str(), std::string(name).c_str(), 0) == 0;
}

} // namespace

bool has_rules() {
    return instance::top().has(file);
}

std::string remedy_without_rules() {
    return has_user_events() ? "only the kernel module has rules, not the kernel's own user_events"
                             : remedy_without_user_events();
}

bool rule::is_for(const event_name& name) const {
    const auto colon = pattern.find(':');
    const bool has_system = colon != pattern.npos;
    return recording::is_registered_system(name.system) && (group.empty() || group == "default") &&
           (!has_system || glob(pattern.substr(0, colon), name.system)) &&
           glob(pattern.substr(has_system ? colon + 1 : 0),
                recording::registered_name(name.system, name.event));
}

unsigned rule::number_behind(std::string_view label) const {
    const auto at = comment.find(label);
    if (at == comment.npos)
        return 0;
    return static_cast<unsigned>(std::strtoul(comment.c_str() + at + label.size(), nullptr, 10));
}

std::string rule_text(std::string_view pattern, std::string_view instance,
                      std::string_view programs, std::string_view filter) {
    std::string text(pattern);
    if (!instance.empty())
        text += fmt::format(" instance={}", instance);
    if (!programs.empty())
        text += fmt::format(" {}", programs);
    if (!filter.empty())
        text += fmt::format(" if {}", filter);
    return text;
}

std::string pattern_of(const event_name& name) {
    std::string result = name.system + ":";
    for (const char character : recording::registered_name(name.system, name.event)) {
        if (std::string_view("*?[\\").find(character) != std::string_view::npos)
            result += '\\';
        result += character;
    }
    return result;
}

std::vector<rule> rules() {
    std::istringstream lines(instance::top().read(file));
    std::vector<rule> result;
    for (std::string line; std::getline(lines, line);) {
        // The file's own comment is the last one.
        const auto mark = line.rfind(" # applied to ");
        rule found{line.substr(0, mark), mark == line.npos ? "" : line.substr(mark + 3)};
        parse(found);
        result.push_back(std::move(found));
    }
    return result;
}

std::vector<rule> rules_if_readable() {
    try {
        return has_rules() ? rules() : std::vector<rule>();
    } catch (const text::failure&) {
        return {};
    }
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

std::string failure_of_rule(const std::string& text) {
    for (const rule& rule : rules())
        if (rule.text == text)
            if (const auto at = rule.comment.find("failed for "); at != rule.comment.npos)
                return rule.comment.substr(at);
    return {};
}

temporary_rule::temporary_rule(std::string text) : text_(std::move(text)) {
    if (!has_rule(text_))
        add_rule(text_);
}

temporary_rule::~temporary_rule() {
    if (text_.empty())
        return;
    try {
        remove_rule(text_);
    } catch (const text::failure& error) {
        text::warn(error.what(), error.remedy());
    }
}

} // namespace tool::tracing
