// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "shared.hpp"

namespace stress {

/// Runs an administrator until the phase ends: enables, filters, sets triggers, reads the files,
/// creates and deletes events through dynamic_events, creates and removes instances, attaches perf
/// and BPF, tries to unload the module. Undoes its changes, and does not return.
[[noreturn]] void run_administrator(Shared& shared, unsigned seed, unsigned stream);

} // namespace stress
