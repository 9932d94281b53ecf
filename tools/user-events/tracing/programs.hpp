// SPDX-License-Identifier: GPL-2.0-or-later
// The programs that have events, as far as /proc tells this user.
#pragma once

#include "tracing/events.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tool::tracing {

/// A process that has the data file or the device of a group open.
struct program {
    struct event {
        event_name name;
        bool enabled;
    };

    int id;
    std::string name;
    /// The groups whose files it has open, each once.
    std::set<std::string> groups;
    /// What it has registered through the file, each once. The kernel's own user_events does not
    /// tell.
    std::vector<event> events;
};

/// Nothing if the process does not have the file open, or this user may not know.
std::optional<program> program_with_events(int id);

/// In the order of their numbers.
std::vector<program> programs_with_events();

/// The processes that have a file of an ftrace instance open, as far as this user may see that. The
/// kernel does not remove the instance before they have closed its trace_pipe or trace_pipe_raw.
std::vector<int> users_of_instance(const std::string& name);

} // namespace tool::tracing
