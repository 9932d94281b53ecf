// SPDX-License-Identifier: GPL-2.0-or-later
// Facts about this system that several checks need.
#pragma once

#include "tracing/tracefs.hpp"

#include <string>

namespace tool::diagnosis {

/// The kernel's release, as `uname -r` prints it.
std::string release();

using tracing::first_line;

/// Where the kernel's events of user programs come from.
enum class origin { built_in, loaded, installed, absent };
origin origin_of_events();

/// Whether the kernel has them.
inline bool has_events() {
    return origin_of_events() <= origin::loaded;
}

/// What a command prints on standard output; empty if there is no such command.
std::string output_of(const std::string& command);

} // namespace tool::diagnosis
