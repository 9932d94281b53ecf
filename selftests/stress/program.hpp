// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "shared.hpp"

namespace stress {

/// Runs a traced program until the round ends or it is killed: its threads register, unregister,
/// delete, write, share indexes, fork, exec and pass files. Afterwards it checks its bits. The
/// programs pass files through a socket pair; `socket` is one of its ends. Does not return.
[[noreturn]] void run_program(Shared& shared, unsigned seed, unsigned stream, int socket);

/// Writes to the counted event only, through a file of the parent. Does not return.
[[noreturn]] void run_writer(Shared& shared, unsigned seed, unsigned stream, int file,
                             std::uint32_t index);

/// Runs after an exec: registers an event and writes one record. Returns the exit status.
int run_briefly();

} // namespace stress
