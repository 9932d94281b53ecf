// SPDX-License-Identifier: GPL-2.0-or-later
// An instance whose files are bind-mounted for this process, as into a container, which has neither
// tracefs nor root.
#pragma once

#include "tracing/tracefs.hpp"

#include <string>

namespace tool::tracing {

/// Which clock the instance may have: one whose distance from the time of day is known, or any.
enum class clock { wall, any };

/// The instance in this directory. Throws text::failure if it lacks one of the files with which its
/// records can be read, or this user may not read it: the remedy is a mount, or a permission.
instance open_mounted(const std::string& directory, clock needed = clock::wall);

/// Whether /proc knows the threads of the kernel's records by their numbers, as it does in the
/// initial namespace of process IDs.
bool has_threads_of_records();

} // namespace tool::tracing
