// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace selftest {

/// Flushes the per-CPU slabs and, with KASAN, the quarantine of freed objects, so that neither is
/// counted as used memory. Throws std::system_error.
void flush_slabs();

/// How many objects the slab caches have whose names begin and end so. Flushes the slabs first.
/// Throws std::system_error, or std::runtime_error if there is no such cache.
unsigned long count_slab_objects(const std::string& begin, const std::string& end);

} // namespace selftest
