/* SPDX-License-Identifier: MIT */
/*
 * A C program with an event that has a number and a string.
 *
 *	tick [TICKS]
 */
#include <user_events/user_events.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct user_event tick = USER_EVENT_INIT;

int main(int argc, char* argv[]) {
    const unsigned ticks = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
    const int error = user_event_register(&tick, "tick u32 count; __rel_loc char[] text");

    /* Without user_events, the program runs as if nothing recorded the event. */
    if (error)
        fprintf(stderr, "tick: not traced: %s\n", strerror(error));
    for (unsigned count = 1; count <= ticks; count++) {
        const char text[] = "tock";
        struct {
            uint32_t count;
            /* The size of the text with its NUL, and its offset from here. */
            uint32_t location;
            char text[sizeof(text)];
        } payload = {count, sizeof(text) << 16, {0}};

        memcpy(payload.text, text, sizeof(text));
        if (user_event_enabled(&tick))
            user_event_write(&tick, &payload, sizeof(payload));
    }
    user_event_unregister(&tick);
    return 0;
}
