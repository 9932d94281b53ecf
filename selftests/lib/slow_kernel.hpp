// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace selftest {

/// A number of what takes long: a tenth of it on a kernel that looks for faults of its own, which
/// takes that kernel ten times as long, but not less than `least`.
unsigned fewer(unsigned number, unsigned least = 1);

} // namespace selftest
