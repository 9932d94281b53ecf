// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "report.hpp"

namespace bench {

// Each measures one concern. What it leaves behind goes with its process.
void writing(Report& report);
void registering(Report& report);
void forking(Report& report);
void enabling(Report& report);
void memory(Report& report);
void threads(Report& report);

} // namespace bench
