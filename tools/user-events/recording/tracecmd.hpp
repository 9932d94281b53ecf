// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

// trace-cmd.h includes the header of libtracefs 1.6, which is not valid C++: an inline function
// passes an int as an enum. The overload declared below makes that call valid. Nothing defines or
// calls it.

struct tracefs_instance;
struct tracefs_hist;
int tracefs_hist_command(tracefs_instance* instance, tracefs_hist* hist, int command);

extern "C" {
#include <trace-cmd.h>

// libtracecmd exports these, but has no public header for them. The text is the handle's; null if
// the file has none.
const char* tracecmd_get_cpustats(tracecmd_input* handle);
bool tracecmd_compress_is_supported(const char* name, const char* version);
}
