/* SPDX-License-Identifier: MIT */
/* A C++ source file of the C program. */
#include <user_events/user_events.h>

extern "C" const void* file_of_cpp() {
    return &USER_EVENTS_SHARED;
}
