/* SPDX-License-Identifier: MIT */
#include <user_events/user_events.h>

static struct user_event installed = USER_EVENT_INIT;

int main(void) {
    user_event_register(&installed, "installed s32 number");
    user_event_unregister(&installed);
    return 0;
}
