// SPDX-License-Identifier: GPL-2.0-or-later
// The container in which `doctor` runs, and what its engine has to be told.
#pragma once

#include <string>

struct stat;

namespace tool::diagnosis {

/// How an engine hands files to a container. GROUP is the name of a group of events.
struct container_engine {
    const char* name;
    /// Hands in the device of a group.
    const char* device;
    /// Puts it where programs look that were written for the user_events of Linux.
    const char* data_file;
    /// Shows a directory of /sys that the engine hides.
    const char* unmask;
    /// Gives the container's user the group of the device, or runs the container as another user.
    const char* users;
};

/// The engine of the container of this process. Null outside of a container.
const container_engine* engine();

/// What to do, outside of the container, if this user of the container gets such an errno for a
/// node. `node` is what stat() says of it; null if there is none. Empty if the engine cannot help.
std::string remedy_in_container(const container_engine& engine, int error, const struct stat* node);

} // namespace tool::diagnosis
