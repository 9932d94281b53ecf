// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "world.hpp"

namespace stress {

/// What an administrator does until the chaos ends: enables, filters, sets triggers, reads the
/// files, creates and deletes events by lines of dynamic_events, makes and removes instances,
/// attaches perf and BPF, tries to unload the module. It leaves nothing behind. Does not return.
[[noreturn]] void run_administrator(World& world, unsigned seed, unsigned stream);

} // namespace stress
