/* SPDX-License-Identifier: MIT */
/* Another source file of the C program. */
#include <user_events/user_events.h>

const void* file_of_other(void);

const void* file_of_other(void) {
    return &USER_EVENTS_SHARED;
}
