// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace selftest {

/// Returns how often to repeat a slow operation: `number` times; on the debug kernel, which is ten
/// times slower, a tenth of that, but at least `least`.
unsigned fewer_if_debug(unsigned number, unsigned least = 1);

/// Returns how often to repeat an operation that takes long: `number` times on Linux 6.12, `others`
/// on other kernels; on a debug kernel a tenth of that.
unsigned fewer_if_not_6_12(unsigned number, unsigned others);

} // namespace selftest
