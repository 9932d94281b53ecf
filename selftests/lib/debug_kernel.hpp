// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace selftest {

/// Returns how often to repeat a slow operation: `number` times; on the debug kernel, which is ten
/// times slower, a tenth of that, but at least `least`.
unsigned fewer_if_debug(unsigned number, unsigned least = 1);

} // namespace selftest
