// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace selftest {

/// Registers, enables, writes and reads one record. With assertions of Catch's.
void check_that_it_works();

} // namespace selftest
