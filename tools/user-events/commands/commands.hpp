// SPDX-License-Identifier: GPL-2.0-only
// The commands. Each is in a file of its name.
#pragma once

#include "cli.hpp"

namespace tool {

action mark(arguments& with);
action report(arguments& with);

/// In the order of --help.
inline constexpr command commands[] = {
    {"mark", "put a text among the records", mark},
    {"report", "print a recording", report},
};

} // namespace tool
