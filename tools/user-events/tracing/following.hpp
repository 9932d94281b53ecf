// SPDX-License-Identifier: GPL-2.0-only
// Enables events in an instance: those that exist and those that are created later.
#pragma once

#include "tracing/events.hpp"
#include "tracing/tracefs.hpp"

#include <set>
#include <string>
#include <vector>

namespace tool::tracing {

/// While the object exists, the events that match are recorded in the instance, which has to
/// outlive it. With the kernel module's rules an event is recorded from its first record on. The
/// kernel's own user_events has no rules: there, update() looks for new events.
class following {
public:
    /// Without patterns, all user events and marks are meant. An event of the kernel has to exist.
    /// Throws text::failure.
    following(const instance& in, const std::vector<pattern>& patterns, const std::string& filter);
    following(const following&) = delete;
    following& operator=(const following&) = delete;
    ~following();

    /// Leaves the events enabled, also those to come.
    void release() noexcept { rules_.clear(); }

    /// To be called every now and then.
    void update();

private:
    void enable(const event_name& name);
    void disable_rules() noexcept;
    void remove_other_rules();

    const instance& in_;
    std::vector<pattern> patterns_;
    std::string filter_;
    std::vector<std::string> rules_;
    std::set<event_name> enabled_;
    bool has_rules_;
};

} // namespace tool::tracing
