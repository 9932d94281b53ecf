// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "report.hpp"

namespace bench {

/// Each measures one concern and leaves nothing behind.
void writing(Report& report);

} // namespace bench
