// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// The header of libtracefs 1.6 is not valid C++: it lacks extern "C", and an inline function passes
// an int as an enum. The overload declared below makes that call valid. Nothing defines or calls
// it.

struct tracefs_instance;
struct tracefs_hist;
int tracefs_hist_command(tracefs_instance* instance, tracefs_hist* hist, int command);

extern "C" {
#include <tracefs.h>
}
