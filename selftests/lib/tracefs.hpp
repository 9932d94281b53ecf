// SPDX-License-Identifier: GPL-2.0-only
#pragma once

// libtracefs 1.6 is for C: no extern "C", and one of its inline functions passes an int as an enum.
// The overload below, which is nowhere defined and nowhere used, makes that valid C++.

struct tracefs_instance;
struct tracefs_hist;
int tracefs_hist_command(tracefs_instance* instance, tracefs_hist* hist, int command);

extern "C" {
#include <tracefs.h>
}
