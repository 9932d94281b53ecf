// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <string>

namespace selftest {

/// Writes a line to user_events_groups: adds a group, changes or, with a '!' before it, removes it.
/// A success has the value 0.
Outcome change_group(const std::string& text);

/// Returns the line of a group in user_events_groups, or an empty string.
std::string group_line(const std::string& name);

/// Returns the path of the device of a group.
std::string group_device(const std::string& name);

/// Opens the device of a group. Throws std::system_error.
DataFile open_group(const std::string& name, int flags = O_RDWR);

/// Returns what read() of the device of a group gives up to the end. Throws std::system_error.
std::string group_status(const std::string& name);

/// A group of events. The destructor waits until nothing uses the group, and removes it.
class Group {
public:
    /// Options begin with a space. Throws std::system_error.
    explicit Group(const std::string& options = "", std::string name = unique_name("group"));
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;
    ~Group();

    const std::string& name() const { return name_; }
    std::string system() const { return "user_events_" + name_; }
    std::string device() const { return group_device(name_); }
    std::string line() const { return group_line(name_); }
    std::string status() const { return group_status(name_); }
    DataFile open(int flags = O_RDWR) const { return open_group(name_, flags); }
    /// Returns the group's event of a name, which need not exist.
    Event event(const std::string& name) const { return Event(name, system()); }
    /// Tries once to remove the group.
    Outcome remove() const { return change_group("!" + name_); }

private:
    std::string name_;
};

} // namespace selftest
