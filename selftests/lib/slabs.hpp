// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace selftest {

/// Flushes the per-CPU slabs and, with KASAN, the quarantine of freed objects, so that neither is
/// counted as used memory. Throws std::system_error.
void flush_slabs();

} // namespace selftest
