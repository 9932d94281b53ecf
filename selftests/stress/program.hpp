// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "world.hpp"

namespace stress {

/// What a traced program does, until the end of the round or until it is killed: threads that
/// register, unregister, delete, write, fork, exec and pass files. `socket` is shared by all
/// programs. In the quiet phases it looks at its bits. Does not return.
[[noreturn]] void run_program(World& world, unsigned seed, unsigned stream, int socket);

/// Writes to the books alone, through a file it has from its parent.
[[noreturn]] void run_book_keeper(World& world, unsigned seed, unsigned stream, int file,
                                  std::uint32_t index);

/// What a program does that was started by exec.
int run_briefly();

} // namespace stress
