// SPDX-License-Identifier: GPL-2.0-or-later
// The commands of this program. Each is in a file of its name.
#pragma once

#include "cli.hpp"
#include "fleet.hpp"

namespace tool {

action serve(arguments& with);
action ship(arguments& with);

/// `user-events --help` lists them, too.
inline constexpr command fleet_commands[] = {
    {"ship", ship_summary, ship},
    {"serve", serve_summary, serve},
};

} // namespace tool
