// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include "cli.hpp"

#include <span>

namespace tool {

/// The statuses of main(), besides those of text::silent_failure.
namespace exit_status {
/// With `usage`, the arguments or the configuration make no sense.
inline constexpr int success = 0, failed = 1, usage = 2;
} // namespace exit_status

/// What main() does: runs one of these commands, and is the one place where errors become messages
/// and a status, which it returns.
int run_program(std::span<const command> commands, int argc, char** argv);

} // namespace tool
