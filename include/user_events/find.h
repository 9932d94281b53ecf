/* SPDX-License-Identifier: MIT */
/*
 * Finds and opens the file that events are registered with and written to. For C11 and C++; the
 * parts of the library share it. Programs use user_events.h or user_events.hpp.
 *
 * All of this is async-signal-safe, because a signal handler may have to open a lost file again:
 * system calls without the C library, no memory but the stack, no locks. The exceptions are the
 * functions that read the environment. Functions change errno.
 */
#ifndef USER_EVENTS_FIND_H
#define USER_EVENTS_FIND_H

#include "system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The C library declares this for _GNU_SOURCE only, which C++ compilers define. */
#ifndef __cplusplus
extern char* secure_getenv(const char* name);
#endif

/* The casts are those of C. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
inline namespace USER_EVENTS_C_LAYOUT {
#endif

/* The longest path of a file in the environment, with its NUL. */
#define USER_EVENTS_PATH_MAX 1024

/* Opens a file. Returns the descriptor, or minus an errno. */
USER_EVENTS_INLINE int user_events_open_path(const char* path) {
    /* If the path is a FIFO, opening it must not wait for a reader. */
    return user_events_open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Whether the environment switches the library off. */
USER_EVENTS_INLINE int user_events_is_off(void) {
    const char* const wanted = secure_getenv("USER_EVENTS");

    return wanted && strcmp(wanted, "off") == 0;
}

/*
 * What the environment says of the file. It is read when the file is opened for the first time. A
 * lost file is opened again as this says: the environment may have been cleared, another thread may
 * be changing it, and getenv() is not async-signal-safe.
 *
 * @error: why the file must not be opened: ECANCELED for USER_EVENTS=off, or ENAMETOOLONG; or 0
 * @is_debugged: whether USER_EVENTS_DEBUG=1
 * @path: USER_EVENTS_FILE, or empty
 */
struct user_events_environment {
    int error;
    int is_debugged;
    char path[USER_EVENTS_PATH_MAX];
};

/*
 * With USER_EVENTS_DEBUG=1, prints what the library has done to standard error:
 *
 *	user_events: WHAT OBJECT[: error NUMBER]
 */
USER_EVENTS_OUT_OF_LINE void user_events_say(const struct user_events_environment* environment,
                                             const char* what, const char* object, int error) {
    static const char* const beginning = "user_events: ";
    char number[16] = "\n";
    size_t at = sizeof(number) - 1, digits = 1;
    const char* const texts[] = {beginning, what, " ", object, error ? ": error " : ""};
    struct iovec parts[6];

    if (!environment->is_debugged)
        return;
    number[at] = '\n';
    for (; error > 0; error /= 10, digits++)
        number[--at] = (char)('0' + error % 10);
    for (size_t i = 0; i < 5; i++) {
        parts[i].iov_base = (void*)(uintptr_t)texts[i];
        parts[i].iov_len = strlen(texts[i]);
    }
    parts[5].iov_base = number + at;
    parts[5].iov_len = digits;
    user_events_writev(STDERR_FILENO, parts, 6);
}

/* The variables are ignored in programs with the set-user-ID bit and the like. */
USER_EVENTS_INLINE void user_events_read_environment(struct user_events_environment* environment) {
    const char* const path = secure_getenv("USER_EVENTS_FILE");
    const char* const debug = secure_getenv("USER_EVENTS_DEBUG");
    const size_t length = path ? strlen(path) : 0;

    environment->error = user_events_is_off()                  ? ECANCELED
                         : length >= sizeof(environment->path) ? ENAMETOOLONG
                                                               : 0;
    environment->is_debugged = debug && strcmp(debug, "1") == 0;
    environment->path[0] = 0;
    if (!environment->error && path)
        memcpy(environment->path, path, length + 1);
}

/*
 * Finds and opens the file: the one that the environment names, or else the first of these places
 * that can be opened.
 *
 * Returns the descriptor, or minus an errno: that of the environment, ENOENT if there is no such
 * file, or the reason why the first existing one cannot be opened.
 */
USER_EVENTS_INLINE int
user_events_find_and_open_in(const struct user_events_environment* environment) {
    static const char* const places[] = {
        "/dev/user_events/default",
        "/sys/kernel/tracing/user_events_data",
        "/sys/kernel/debug/tracing/user_events_data",
    };
    const int is_named = *environment->path != 0;
    int reason = -ENOENT;

    if (environment->error) {
        user_events_say(environment, "the environment switches off", "all events",
                        environment->error);
        return -environment->error;
    }
    for (size_t i = 0; i < (is_named ? 1 : sizeof(places) / sizeof(*places)); i++) {
        const char* const path = is_named ? environment->path : places[i];
        const int descriptor = user_events_open_path(path);

        user_events_say(environment, "open", path, descriptor < 0 ? -descriptor : 0);
        if (descriptor >= 0)
            return descriptor;
        if (reason == -ENOENT)
            reason = descriptor;
    }
    return reason;
}

/* The same with the environment as it is now. */
USER_EVENTS_INLINE int user_events_find_and_open(void) {
    struct user_events_environment environment;

    user_events_read_environment(&environment);
    return user_events_find_and_open_in(&environment);
}

#ifdef __cplusplus
} // namespace USER_EVENTS_C_LAYOUT
#pragma GCC diagnostic pop
#endif

#endif
