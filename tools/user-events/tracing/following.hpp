// SPDX-License-Identifier: GPL-2.0-or-later
// Enables events in an instance: those that exist and those that are created later.
#pragma once

#include "eventheader/choice.hpp"
#include "tracing/events.hpp"
#include "tracing/rules.hpp"
#include "tracing/scope.hpp"
#include "tracing/tracefs.hpp"

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tool::tracing {

struct wanted_events {
    /// Without patterns, all user events and marks are meant.
    std::vector<pattern> patterns;
    std::string filter = {};
    eventheader::choice choice = {};
    scope programs = {};
    /// Whether patterns may name a provider and its events. All events of the provider's
    /// tracepoints are then recorded, because the kernel does not know the events' names.
    bool has_providers = false;
    /// Whether the caller applies the filter to tracepoints with names such as `Provider_L4K1f`:
    /// the kernel does not know the fields in their payloads.
    bool is_filter_shared = false;
    /// Whether the caller applies the filter to all records. No event in the kernel then has the
    /// filter.
    bool is_filter_own = false;

    /// Whether the tracepoint is wanted. Neither the filter nor events' names are looked at.
    bool includes(const event_name& name) const;
    /// The same for an event of this name of a provider, without the choice.
    bool matches(const event_name& name, const std::string& event) const;
    /// Whether the caller has to apply the filter to records of the tracepoint.
    bool is_filtered_by_caller(std::string_view registered_name) const;
};

/// Tells when the directories of user events have to be listed again. tracefs reports no changes,
/// but user_events_status has a line for each event of the group "default", and user_events_groups
/// the number of events of each group.
class event_changes {
public:
    event_changes();
    event_changes(const event_changes&) = delete;
    event_changes& operator=(const event_changes&) = delete;
    ~event_changes();

    /// Whether events may have been created or removed since the last call.
    bool may_have_happened();

private:
    int status_; // -1 if it cannot be read
    int groups_; // the same
    std::string seen_;
    std::chrono::steady_clock::time_point settled_;
    std::chrono::steady_clock::time_point listed_;
};

/// While the object exists, the events that are wanted are recorded in the instance, which has to
/// outlive it. With the kernel module's rules an event is recorded from its first record on. The
/// kernel's own user_events has no rules: there, update() looks for new events.
///
/// Some rules match more than what is wanted. What they enable besides is disabled: at once if it
/// exists, otherwise by update().
///
/// Rules are also what enables events for some programs. Events of the kernel and marks, children,
/// and the kernel's own user_events need set_event_pid instead.
class following {
public:
    /// An event of the kernel that a pattern names must exist already. Throws text::failure, also
    /// if there is no means to record only the programs that are wanted. Rules that an adopted
    /// instance had, and that are wanted, are then left.
    following(const instance& in, wanted_events wanted);
    following(const following&) = delete;
    following& operator=(const following&) = delete;
    ~following() = default;

    /// Leaves the events enabled, also those to come.
    void release() noexcept;

    /// To be called every now and then. Warns of events that the filter does not fit.
    void update();

    /// For the end. Throws text::failure if there were such events.
    void require_all();

private:
    void look_at_rules();
    void choose_programs();
    void follow_instead_of(std::vector<rule> left);
    void release(const std::vector<rule>& left) noexcept;
    bool can_choose_programs(const pattern& wanted, const event_name& name);
    bool has_own(const rule& other) const;
    void follow(const pattern& wanted);
    void enable_existing(const pattern& wanted, bool is_for_providers);
    void add(const rule& added);
    void enable(const event_name& name);
    void disable_others();
    std::vector<rule> left_rules() const;

    const instance& in_;
    wanted_events wanted_;
    /// What the rules have in common.
    rule rule_;
    std::vector<temporary_rule> rules_;
    std::set<event_name> enabled_;
    /// What the kernel said of the filter, and the events that it does not fit.
    std::set<std::string> failures_;
    /// Those that rules may have enabled, but that are not wanted.
    std::set<event_name> disabled_;
    bool has_rules_;
    bool are_rules_wide_ = false;
    bool is_begun_ = false;
    /// Whether set_event_pid has the processes besides the rules.
    bool is_limited_ = false;
    event_changes changes_;
};

} // namespace tool::tracing
