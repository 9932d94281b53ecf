// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/group_option.hpp"
#include "eventheader/tracepoint_name.hpp"
#include "eventheader/words.hpp"
#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "text/json.hpp"
#include "text/table.hpp"
#include "tracing/events.hpp"
#include "tracing/groups.hpp"
#include "tracing/programs.hpp"
#include "tracing/rules.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include <event-parse.h>

namespace tool {

namespace {

struct options {
    std::vector<std::string> patterns;
    group_option group;
    bool json = false;
};

struct row {
    tracing::event_name name;
    std::vector<std::string> fields;
    std::vector<std::string> recorders;
    /// The rules that record it for some programs only.
    std::vector<tracing::listed_rule> for_programs;
    std::uint64_t lost;
    /// Whether the tracepoint's name says more than its fields, as payloads describe themselves.
    bool is_described;
};

/// Those of .NET have a name that another tool has chosen.
bool has_telling_name(const tep_event& format) {
    const recording::event_type type(format);
    return type.is_described && !type.is_eventpipe;
}

/// Those of the rules that record an event for some programs, in instances where it is enabled and
/// no rule records it for all.
std::vector<tracing::listed_rule> rules_for_programs(const std::vector<tracing::listed_rule>& rules,
                                                     const tracing::event_name& name,
                                                     const std::vector<std::string>& recorders) {
    std::vector<tracing::listed_rule> result;
    std::set<std::string> for_all;
    for (const auto& rule : rules) {
        if (!rule.trigger.empty() || rule.applied() == 0 || !rule.is_for(name) ||
            std::find(recorders.begin(), recorders.end(), rule.options[tracing::rule::instance]) ==
                recorders.end())
            continue;
        if (rule.programs().empty())
            for_all.insert(rule.options[tracing::rule::instance]);
        else
            result.push_back(rule);
    }
    std::erase_if(result, [&](const auto& rule) {
        return for_all.count(rule.options[tracing::rule::instance]) != 0;
    });
    return result;
}

std::vector<row> rows(const std::vector<tracing::pattern>& patterns) {
    const auto rules = tracing::rules_if_readable();
    tracing::statuses status;
    const auto instances = tracing::all_instances();
    tracing::formats formats;
    std::vector<row> result;
    for (const auto& name : tracing::user_events(patterns)) {
        const tep_event* const format = formats.find(name);
        const tracing::usage& used = status.of(name);
        auto recorders = tracing::recorders(name, used, instances);
        auto for_programs = rules_for_programs(rules, name, recorders);
        result.push_back(
            {name,
             format ? tracing::field_texts(*format) : std::vector<std::string>{"(unknown format)"},
             std::move(recorders), std::move(for_programs), used.lost,
             format && has_telling_name(*format)});
    }
    return result;
}

std::string short_name(const tracing::event_name& name) {
    return name.system == recording::one_format_system ? name.event
                                                       : name.system + ":" + name.event;
}

eventheader::tracepoint_name name_of(const row& event) {
    return eventheader::to_tracepoint_name(
        recording::registered_name(event.name.system, event.name.event));
}

/// "flight, shop (pid=7: 1 program)"
std::string recorders_of(const row& event) {
    std::vector<std::string> result;
    for (const auto& recorder : event.recorders) {
        std::vector<std::string> programs;
        for (const auto& rule : event.for_programs)
            if (rule.options[tracing::rule::instance] == recorder)
                programs.push_back(fmt::format("{}: {} program{}", rule.programs(), rule.matching(),
                                               rule.matching() == 1 ? "" : "s"));
        result.push_back(programs.empty()
                             ? recorder
                             : fmt::format("{} ({})", recorder, text::joined(programs, "; ")));
    }
    return result.empty() ? "-" : text::joined(result);
}

std::string keyword_of(const row& event) {
    return fmt::format("0x{:X}", name_of(event).keyword);
}

std::string level_of(const row& event) {
    return eventheader::level_text(name_of(event).level);
}

/// `events of My_Provider [warning keyword=0x1], which describe their fields`
std::string fields_of(const row& event) {
    if (!event.is_described)
        return text::joined(event.fields, "; ");
    return fmt::format("events of {} [{} keyword={}], which describe their fields",
                       name_of(event).provider, level_of(event), keyword_of(event));
}

/// The names of those of the program's events that match.
std::vector<std::string> events_of(const tracing::program& program,
                                   const std::vector<tracing::pattern>& patterns) {
    std::vector<std::string> result;
    for (const auto& event : program.events)
        if (tracing::matches_any(patterns, event.name))
            result.push_back(short_name(event.name));
    return result;
}

/// The programs that have events which match, as far as the kernel tells.
std::vector<tracing::program> programs(const std::vector<tracing::pattern>& patterns) {
    auto result = tracing::programs_with_events();
    std::erase_if(result, [&](const tracing::program& program) {
        return !program.events.empty() && events_of(program, patterns).empty();
    });
    return result;
}

void print_table(const std::vector<row>& events, const std::vector<tracing::program>& programs,
                 const std::vector<tracing::pattern>& patterns) {
    using text::style;
    text::table table({"EVENT", "RECORDED BY", "LOST", "FIELDS"});
    for (const row& event : events)
        table.add({{short_name(event.name), style::bold},
                   {recorders_of(event), style::green},
                   {std::to_string(event.lost), event.lost ? style::red : style::dim, true},
                   {fields_of(event)}});
    table.print();
    if (!text::is_terminal())
        return;
    if (programs.empty()) {
        text::print(patterns.empty()
                        ? "\nNo program has user_events_data or the device of a group open.\n"
                        : "\nNo program has registered these events.\n");
        return;
    }
    text::print("\n");
    text::table users({"PROCESS", "PROGRAM", "HAS REGISTERED"});
    for (const auto& program : programs)
        users.add({{std::to_string(program.id), style::plain, true},
                   {program.name},
                   {program.events.empty() ? "-" : text::joined(events_of(program, patterns))}});
    users.print();
}

void print_json(const std::vector<row>& events, const std::vector<tracing::program>& programs,
                const std::vector<tracing::pattern>& patterns) {
    nlohmann::ordered_json result{{"events", nlohmann::ordered_json::array()},
                                  {"processes", nlohmann::ordered_json::array()}};
    for (const row& event : events) {
        result["events"].push_back({{"system", event.name.system},
                                    {"name", event.name.event},
                                    {"fields", event.fields},
                                    {"recorders", event.recorders},
                                    {"lost", event.lost}});
        for (const auto& rule : event.for_programs)
            result["events"].back()["programs"].push_back(
                {{"recorder", rule.options[tracing::rule::instance]},
                 {"options", rule.programs()},
                 {"matching", rule.matching()}});
        if (event.is_described)
            result["events"].back().update({{"provider", name_of(event).provider},
                                            {"group", eventheader::group_of(name_of(event))},
                                            {"level", level_of(event)},
                                            {"keyword", keyword_of(event)}});
    }
    for (const auto& program : programs)
        result["processes"].push_back({{"pid", program.id},
                                       {"name", program.name},
                                       {"groups", program.groups},
                                       {"events", events_of(program, patterns)}});
    text::print_json(result);
}

} // namespace

action list(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positionals("PATTERN", given->patterns,
                     "only events whose name matches, SYSTEM:NAME, or "
                     "PROVIDER:EVENT for the tracepoints of a provider");
    given->group.declare(with);
    with.flag("--json", given->json, "print JSON");
    return [given] {
        auto patterns = given->group.read(given->patterns);
        for (std::size_t i = 0; i < given->patterns.size(); i++)
            if (patterns[i].is_for_providers())
                for (auto& tracepoints : patterns[i].of_tracepoints())
                    patterns.push_back(std::move(tracepoints));
        const auto events = rows(patterns);
        if (events.empty() && !patterns.empty())
            throw text::failure(
                fmt::format("no event matches {}", text::joined(given->patterns)),
                "`user-events list` lists those that exist; `user-events enable --future` and "
                "`user-events watch` wait for others");
        if (given->json)
            print_json(events, programs(patterns), patterns);
        else
            print_table(events, programs(patterns), patterns);
    };
}

} // namespace tool
