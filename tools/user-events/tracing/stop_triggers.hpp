// SPDX-License-Identifier: GPL-2.0-or-later
// Records that are kept until something happens: the kernel stops an instance.
#pragma once

#include "tracing/events.hpp"
#include "tracing/rules.hpp"
#include "tracing/tracefs.hpp"

#include <string>
#include <vector>

namespace tool::tracing {

/// An event, and what its fields have to be.
struct stop_condition {
    /// Reads `EVENT` or `EVENT if FILTER`; the group is that of tracing::pattern. Throws
    /// text::usage_error.
    stop_condition(const std::string& text, const std::string& group);

    tracing::pattern pattern;
    std::string filter; // empty for any record of the event
};

/// While the object exists, the kernel sets tracing_on of the instance to 0 when an event fulfils a
/// condition, in the thread that makes the record, which is the last one of this CPU. The instance
/// has to outlive the object.
class stop_triggers {
public:
    /// Throws text::failure if a condition fits no event.
    stop_triggers(const instance& in, const std::vector<stop_condition>& conditions);

private:
    void add(const instance& in, const stop_condition& condition);

    std::vector<temporary_rule> rules_;
};

} // namespace tool::tracing
