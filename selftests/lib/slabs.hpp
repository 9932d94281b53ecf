// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace selftest {

/// Has every CPU give back the slabs that it keeps for itself, and a kernel that checks its memory
/// what it keeps of freed objects: both count as used.
void flush_slabs();

} // namespace selftest
