// SPDX-License-Identifier: GPL-2.0-only
#include "tracing/following.hpp"

#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "tracing/rules.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

namespace tool::tracing {

following::following(const instance& in, const std::vector<pattern>& patterns,
                     const std::string& filter)
    : in_(in), patterns_(patterns), filter_(filter), has_rules_(has_rules()) {
    if (patterns_.empty())
        patterns_.emplace_back("*");
    try {
        for (const auto& wanted : patterns_) {
            if (has_rules_ && wanted.is_for_user_events()) {
                const auto rule = rule_text(wanted.text(), in.name(), filter);
                // One that exists is of a killed process, whose instance this one has adopted.
                if (!has_rule(rule))
                    add_rule(rule);
                rules_.push_back(rule);
                if (const auto reason = failure_of_rule(rule); !reason.empty())
                    text::warn(fmt::format("the filter \"{}\" does not fit: {}", filter, reason));
            }
            const auto names = events(wanted);
            if (names.empty() && !(wanted.is_for_user_events() && has_user_events()))
                throw_no_event(wanted, fmt::format("the kernel's events are in {}/events; some "
                                                   "come with a module",
                                                   mount_point()));
            for (const auto& name : names)
                if (!has_rules_ || !recording::is_registered_system(name.system))
                    enable(name);
        }
        remove_other_rules();
    } catch (...) {
        disable_rules();
        throw;
    }
}

following::~following() {
    disable_rules();
}

void following::disable_rules() noexcept {
    for (const auto& rule : rules_) {
        try {
            remove_rule(rule);
        } catch (const text::failure& error) {
            text::warn(error.what());
        }
    }
    rules_.clear();
}

/// An instance that was adopted may have rules for other events.
void following::remove_other_rules() {
    if (!has_rules_)
        return;
    const std::string own = fmt::format(" instance={}", in_.name());
    for (const rule& each : rules()) {
        const auto at = each.text.find(own);
        const auto end = at + own.size();
        if (at != each.text.npos && (end == each.text.size() || each.text[end] == ' ') &&
            std::find(rules_.begin(), rules_.end(), each.text) == rules_.end())
            remove_rule(each.text);
    }
}

void following::enable(const event_name& name) {
    if (!enabled_.insert(name).second)
        return;
    // A filter may be for some of the events only.
    if (!filter_.empty()) {
        if (const int error = in_.try_write(name.directory() + "/filter", filter_)) {
            text::warn(
                fmt::format("the filter \"{}\" does not fit the event {}", filter_, name.event));
            if (error == EINVAL)
                return;
        }
    }
    const int error = in_.try_write(name.directory() + "/enable", "1");
    // It may have been removed in the meantime.
    if (error && error != ENOENT && error != ENODEV)
        throw text::file_failure(error, "enable", in_.path(name.directory()));
}

void following::update() {
    if (has_rules_)
        return;
    for (const auto& name : user_events(patterns_))
        enable(name);
}

} // namespace tool::tracing
