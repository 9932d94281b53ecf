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

/* The longest path of a file in the environment, or found through mountinfo, with its NUL. */
#define USER_EVENTS_PATH_MAX 1024

/* Opens a file. Returns the descriptor, or minus an errno. */
USER_EVENTS_INLINE int user_events_open_path(const char* path) {
    /* If the path is a FIFO, opening it must not wait for a reader. */
    return user_events_open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/*
 * A line of mountinfo, as far as it was read:
 *
 *	ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [TAG]... - TYPE SOURCE OPTIONS
 *
 * @number: the number of the present word; ID is 0
 * @length: the length of the present word
 * @word: the beginning of the present word
 * @is_whole: ROOT is "/": not a part of a file system
 * @type: the number of the word TYPE; 0 before it is known
 * @is_tracefs: TYPE is "tracefs"
 * @place_length: the length of PLACE, also if it does not fit
 * @place: PLACE, as it is in the line
 */
struct user_events_mount {
    unsigned number, type;
    size_t length, place_length;
    int is_whole, is_tracefs;
    char word[8];
    char place[USER_EVENTS_PATH_MAX];
};

USER_EVENTS_INLINE void user_events_mount_begin(struct user_events_mount* mount) {
    mount->number = mount->type = 0;
    mount->length = mount->place_length = 0;
    mount->is_whole = mount->is_tracefs = 0;
}

/* Whether the present word is this one. */
USER_EVENTS_INLINE int user_events_mount_is(const struct user_events_mount* mount,
                                            const char* word) {
    const size_t length = strlen(word);

    return mount->length == length && memcmp(mount->word, word, length) == 0;
}

/* Adds a character to the present word. */
USER_EVENTS_INLINE void user_events_mount_add(struct user_events_mount* mount, char character) {
    if (mount->number == 4) {
        if (mount->place_length < sizeof(mount->place))
            mount->place[mount->place_length] = character;
        mount->place_length++;
    }
    if (mount->length < sizeof(mount->word))
        mount->word[mount->length] = character;
    mount->length++;
}

/* Ends the present word. */
USER_EVENTS_INLINE void user_events_mount_end_word(struct user_events_mount* mount) {
    if (mount->number == 3)
        mount->is_whole = user_events_mount_is(mount, "/");
    else if (mount->type && mount->number == mount->type)
        mount->is_tracefs = user_events_mount_is(mount, "tracefs");
    else if (mount->number > 5 && !mount->type && user_events_mount_is(mount, "-"))
        mount->type = mount->number + 1;
    mount->number++;
    mount->length = 0;
}

/*
 * Returns the character that an escape in mountinfo stands for, which is \040 and the like for
 * white space and backslashes; -1 if this is none.
 */
USER_EVENTS_INLINE int user_events_escaped(const char* text, size_t length) {
    int number = 0;

    if (length < 4 || text[0] != '\\')
        return -1;
    for (size_t i = 1; i < 4; i++) {
        if (text[i] < '0' || text[i] > '7')
            return -1;
        number = number * 8 + (text[i] - '0');
    }
    return number;
}

/*
 * To be called at the end of a line of mountinfo. Makes the path of user_events_data in the tracefs
 * of this line, in `place`. Returns 0 if the line is one of another file system, or of a part of a
 * tracefs, or if the path is too long.
 */
USER_EVENTS_INLINE int user_events_mount_path(struct user_events_mount* mount) {
    static const char name[] = "/user_events_data";
    size_t to = 0;

    if (!mount->is_whole || !mount->is_tracefs || mount->place_length > sizeof(mount->place))
        return 0;
    for (size_t from = 0; from < mount->place_length; to++) {
        const int character = user_events_escaped(mount->place + from, mount->place_length - from);

        mount->place[to] = character < 0 ? mount->place[from] : (char)character;
        from += character < 0 ? 1 : 4;
    }
    if (to + sizeof(name) > sizeof(mount->place))
        return 0;
    memcpy(mount->place + to, name, sizeof(name));
    return 1;
}

/*
 * Reads on in mountinfo, and opens the first user_events_data that is in this part. Returns the
 * descriptor, or minus the errno of the first user_events_data that exists but could not be opened.
 * `result` is what this function returned for the earlier parts.
 */
USER_EVENTS_INLINE int user_events_open_in_mounts(struct user_events_mount* mount, const char* text,
                                                  long size, int result) {
    for (long i = 0; i < size && result < 0; i++) {
        if (text[i] != ' ' && text[i] != '\n') {
            user_events_mount_add(mount, text[i]);
            continue;
        }
        user_events_mount_end_word(mount);
        if (text[i] == ' ')
            continue;
        if (user_events_mount_path(mount)) {
            const int descriptor = user_events_open_path(mount->place);

            if (descriptor >= 0 || result == -ENOENT)
                result = descriptor;
        }
        user_events_mount_begin(mount);
    }
    return result;
}

/*
 * Opens user_events_data in the first tracefs of /proc/self/mountinfo that has it. Not inline: the
 * buffers would otherwise be on the stack of callers that need not look there.
 */
USER_EVENTS_OUT_OF_LINE int user_events_open_mounted(void) {
    const int mounts = user_events_open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    struct user_events_mount mount;
    int result = -ENOENT;
    /* Sanitizers and analyzers do not see that the system call fills it. */
    char text[512] = "";
    long size;

    if (mounts < 0)
        return mounts;
    user_events_mount_begin(&mount);
    while (result < 0 && (size = user_events_read(mounts, text, sizeof(text))) > 0)
        result = user_events_open_in_mounts(&mount, text, size, result);
    user_events_close(mounts);
    return result;
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
 * @path: USER_EVENTS_FILE, or empty
 */
struct user_events_environment {
    int error;
    char path[USER_EVENTS_PATH_MAX];
};

/* The variables are ignored in programs with the set-user-ID bit and the like. */
USER_EVENTS_INLINE void user_events_read_environment(struct user_events_environment* environment) {
    const char* const path = secure_getenv("USER_EVENTS_FILE");
    const size_t length = path ? strlen(path) : 0;

    environment->error = user_events_is_off()                  ? ECANCELED
                         : length >= sizeof(environment->path) ? ENAMETOOLONG
                                                               : 0;
    environment->path[0] = 0;
    if (!environment->error && path)
        memcpy(environment->path, path, length + 1);
}

/*
 * Finds and opens the file: the one that the environment names, or else /dev/user_events/default,
 * or else user_events_data in a tracefs.
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
    int reason = -ENOENT;

    if (environment->error)
        return -environment->error;
    if (*environment->path)
        return user_events_open_path(environment->path);
    for (size_t i = 0; i <= sizeof(places) / sizeof(*places); i++) {
        const int descriptor = i < sizeof(places) / sizeof(*places)
                                   ? user_events_open_path(places[i])
                                   : user_events_open_mounted();

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
