// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/group_option.hpp"
#include "recording/record.hpp"
#include "text/errors.hpp"
#include "text/table.hpp"
#include "tracing/events.hpp"
#include "tracing/rules.hpp"

#include <fmt/format.h>
#include <memory>

namespace tool {

namespace {

struct options {
    std::vector<std::string> patterns;
    group_option group;
    std::string instance;
    std::string filter;
    bool future = false;
};

std::vector<tracing::event_name> events_of(const tracing::pattern& wanted) {
    auto names = tracing::events(wanted);
    if (names.empty())
        tracing::throw_no_event(
            wanted, "`user-events list` lists the events; --future is for those to come");
    return names;
}

void enable_now(const tracing::pattern& wanted, const options& given) {
    const std::string filter = recording::to_kernel_filter(given.filter);
    const auto names = events_of(wanted);
    const auto instance = tracing::instance::kept(given.instance);
    for (const auto& name : names) {
        if (!filter.empty())
            tracing::set_filter(instance, name, filter);
        instance.write(name.directory() + "/enable", "1");
    }
}

void enable_from_now_on(const tracing::pattern& wanted, const options& given) {
    if (!wanted.is_for_user_events())
        throw text::usage_error(
            fmt::format("--future is for user events, {} is none", wanted.text()));
    tracing::rule rule{.filter = recording::to_kernel_filter(given.filter)};
    wanted.set_glob(rule, wanted.event());
    rule.options[tracing::rule::instance] = given.instance;
    tracing::add_rule(rule.text());
    if (const auto reason = tracing::failure_of_rule(rule); !reason.empty())
        text::warn(fmt::format("the rule \"{}\" was added, but {}", rule.text(), reason));
}

void disable_now(const tracing::instance& instance, const tracing::pattern& wanted) {
    for (const auto& name : events_of(wanted)) {
        instance.write(name.directory() + "/enable", "0");
        // So that enabling it again without a filter records everything.
        instance.write(name.directory() + "/filter", "0");
    }
}

void disable_from_now_on(const tracing::pattern& wanted, const options& given) {
    tracing::rule meant;
    wanted.set_glob(meant, wanted.event());
    meant.options[tracing::rule::instance] = given.instance;
    int removed = 0;
    for (const tracing::rule& each : tracing::rules()) {
        meant.filter = each.filter;
        if (each != meant)
            continue;
        tracing::remove_rule(each.text());
        removed++;
    }
    meant.filter.clear();
    if (removed == 0)
        throw text::failure(fmt::format("there is no rule for {}", meant.text()),
                            "`user-events rules list` lists the rules");
}

void declare(arguments& with, options& given) {
    with.required_positionals("PATTERN", given.patterns,
                              "names of events, with *, ? and [a-z], or SYSTEM:NAME");
    given.group.declare(with);
    with.option("-i,--instance", "INSTANCE", given.instance, "in this ftrace instance");
}

} // namespace

action enable(arguments& with) {
    const auto given = std::make_shared<options>();
    declare(with, *given);
    with.option("-f,--filter", "FILTER", given->filter,
                "record only what this is true for, such as 'cents > 300'");
    with.flag("--future", given->future, "with a rule, which is also for events to come");
    return [given] {
        for (const auto& wanted : given->group.read(given->patterns)) {
            if (given->future)
                enable_from_now_on(wanted, *given);
            else
                enable_now(wanted, *given);
        }
    };
}

action disable(arguments& with) {
    const auto given = std::make_shared<options>();
    declare(with, *given);
    with.flag("--future", given->future, "remove what `enable --future` has added for PATTERN");
    return [given] {
        for (const auto& wanted : given->group.read(given->patterns)) {
            if (given->future)
                disable_from_now_on(wanted, *given);
            else
                disable_now(tracing::instance::existing(given->instance), wanted);
        }
    };
}

} // namespace tool
