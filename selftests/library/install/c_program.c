/* SPDX-License-Identifier: MIT */
#include <user_events/user_events.h>
#include <user_events/user_events_ext.h>

/* Of the other source files. */
const void* file_of_other(void);
const void* file_of_cpp(void);

static struct user_event installed = USER_EVENT_INIT;

int main(void) {
    _Static_assert(USER_EVENTS_SHARE_INDEXES == 0x2a80, "the ioctl of the kernel module");
    user_event_register(&installed, "installed s32 number");
    user_event_unregister(&installed);
    return file_of_other() == &USER_EVENTS_SHARED && file_of_cpp() == &USER_EVENTS_SHARED ? 0 : 1;
}
