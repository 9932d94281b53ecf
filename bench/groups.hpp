// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "report.hpp"

namespace bench {

// Each function measures one group of operations. It runs in a separate process, and leaves
// cleaning up to its exit.
void writing(Report& report);
void marking(Report& report);
void registering(Report& report);
void forking(Report& report);
void enabling(Report& report);
void memory(Report& report);
void peers(Report& report);
void library(Report& report);
void threads(Report& report);

} // namespace bench
