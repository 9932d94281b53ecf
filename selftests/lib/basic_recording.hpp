// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace selftest {

/// Registers and enables an event, writes a record and reads it. Uses Catch2 assertions.
void check_basic_recording();

} // namespace selftest
