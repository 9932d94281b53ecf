// SPDX-License-Identifier: GPL-2.0-or-later
// Groups of events, each with a device. The kernel's own user_events has none.
#pragma once

#include "tracing/events.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace tool::tracing {

/// A line of user_events_groups.
struct group {
    std::string name;
    std::uint64_t most;
    std::uint64_t events;
    std::uint64_t lost;
};

/// All groups, also "default". None if this user may not read the file.
std::vector<group> groups();

/// The names of all groups that have a node here, sorted.
std::vector<std::string> names_of_groups();
/// Throws text::usage_error if no group can have this name.
void check_name_of_group(const std::string& name);
/// Throws text::failure if there is no such group.
void require_group(const std::string& name);

/// The group whose device this is, "" if it has no node here; nothing if it is something else.
std::optional<std::string> group_of_device(const struct stat& file);

/// What uses the events of all groups.
class statuses {
public:
    /// Reads that of the default group. Throws text::failure, above all without user_events.
    statuses();
    /// Reads the status of another group at the first time.
    const usage& of(const event_name& name);

private:
    /// By the system.
    std::map<std::string, std::map<std::string, usage>> known_;
};

} // namespace tool::tracing
