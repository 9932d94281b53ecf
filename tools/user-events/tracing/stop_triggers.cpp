// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/stop_triggers.hpp"

#include "recording/event_type.hpp"
#include "recording/record.hpp"
#include "text/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace tool::tracing {

namespace {

/// The kernel runs a trigger with a filter after it has made the record, which is then in the
/// instance; one without a filter before that.
std::string trigger_of(const stop_condition& condition) {
    return fmt::format("traceoff if {}",
                       condition.filter.empty() ? "common_pid >= 0" : condition.filter);
}

void add_to_existing(const instance& in, const event_name& name, const std::string& trigger) {
    const int error = in.try_append(name.directory() + "/trigger", trigger);
    // It may have been removed in the meantime.
    if (error && error != ENOENT && error != ENODEV)
        throw text::failure(
            fmt::format("the trigger \"{}\" does not fit the event {}:{}: {}", trigger, name.system,
                        name.event, std::strerror(error)),
            fmt::format("{} has its fields", in.path(name.directory() + "/format")));
}

} // namespace

stop_condition::stop_condition(const std::string& text, const std::string& group)
    : pattern(text.substr(0, text.find(' ')), group) {
    constexpr std::string_view word = "if ";
    const auto space = text.find_first_not_of(' ', std::min(text.find(' '), text.size()));
    if (space == text.npos)
        return;
    filter = text.substr(space);
    if (!filter.starts_with(word))
        throw text::usage_error(fmt::format("--on: \"{}\" is no event", text),
                                "give EVENT, or 'EVENT if FILTER'");
    filter = recording::to_kernel_filter(filter.substr(word.size()));
}

stop_triggers::stop_triggers(const instance& in, const std::vector<stop_condition>& conditions) {
    for (const auto& condition : conditions)
        add(in, condition);
}

void stop_triggers::add(const instance& in, const stop_condition& condition) {
    const bool by_rule = has_rules() && condition.pattern.is_for_registered_events();
    if (by_rule) {
        rule added;
        condition.pattern.set_glob(added, condition.pattern.event());
        added.options[rule::instance] = in.name();
        added.trigger = trigger_of(condition);
        rules_.emplace_back(added);
        if (const auto reason = failure_of_rule(added); !reason.empty())
            throw text::failure(
                fmt::format("the trigger \"{}\" does not fit: {}", added.trigger, reason));
    }
    bool is_known = by_rule;
    for (const auto& name : events(condition.pattern))
        if (!by_rule || !recording::is_registered_system(name.system)) {
            add_to_existing(in, name, trigger_of(condition));
            is_known = true;
        }
    if (!is_known)
        throw_no_event(condition.pattern, "an event of --on must exist; with the kernel module, a "
                                          "program may also register it later");
}

} // namespace tool::tracing
