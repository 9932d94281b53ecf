// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "cli.hpp"

#include <span>

namespace tool {

/// What main() does: runs one of these commands, and is the one place where errors become messages
/// and a status, which it returns.
int run_program(std::span<const command> commands, int argc, char** argv);

} // namespace tool
