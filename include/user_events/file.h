/* SPDX-License-Identifier: MIT */
/*
 * Finds, opens and checks the file that events are registered with and written to. For C11 and
 * C++; the parts of the library share it. Programs use user_events.h or user_events.hpp.
 */
#ifndef USER_EVENTS_FILE_H
#define USER_EVENTS_FILE_H

#include "system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef O_CLOEXEC
#error "user_events needs POSIX: use -std=gnu11, or define _GNU_SOURCE before all headers"
#endif

/* The C library declares these for _GNU_SOURCE only, which C++ compilers define. */
#ifndef F_SETSIG
#define F_SETSIG 10
#define F_GETSIG 11
#endif
#ifndef __cplusplus
extern char* secure_getenv(const char* name);
#endif

/* The casts are those of C. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/*
 * An open file. A program may close the descriptor without the library's knowledge (closefrom() in
 * a daemon), and the number may then be used for another file. Nothing may be written to that one.
 * So the descriptor has a high number, which the kernel gives to other files last, and it is
 * checked again in each epoch of some milliseconds.
 *
 * @descriptor: -1 if there is none
 * @epoch: the epoch in which the descriptor was found to be this file
 * @device, @inode, @mark: what identifies the file. The mark is kept in the open file by F_SETSIG,
 *	which has no other effect on it. It tells apart two descriptors of the same file, for
 *	example those of two shared libraries.
 *
 * All members are accessed atomically.
 */
struct user_events_file {
    int descriptor;
    uint32_t epoch;
    uint64_t device, inode;
    int mark;
};

/* The lowest number for a descriptor. select() cannot handle numbers from 1024 on. */
#define USER_EVENTS_DESCRIPTOR_MIN 1000

/* Opens a file. Returns the descriptor, or minus an errno. */
USER_EVENTS_INLINE int user_events_open_path(const char* path) {
    /* If the path is a FIFO, opening it must not wait for a reader. */
    const int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    return descriptor < 0 ? -errno : descriptor;
}

/* Replaces \040 and the like, which mountinfo has for white space and backslashes in a path. */
USER_EVENTS_INLINE void user_events_unescape(char* text) {
    char* to = text;

    for (const char* from = text; *from; from++, to++) {
        unsigned number;

        if (*from == '\\' && sscanf(from + 1, "%3o", &number) == 1) {
            *to = (char)number;
            from += 3;
        } else {
            *to = *from;
        }
    }
    *to = '\0';
}

/*
 * Returns where a tracefs is mounted, from a line of mountinfo, which is changed. NULL if the line
 * is one of another file system, or of a part of a tracefs.
 */
USER_EVENTS_INLINE char* user_events_place_of_tracefs(char* line) {
    /* ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [TAG]... - TYPE SOURCE OPTIONS */
    const int is_tracefs = strstr(line, " - tracefs ") != NULL;
    char *rest = NULL, *words[5];

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        words[i] = strtok_r(i == 0 ? line : NULL, " ", &rest);
        if (!words[i])
            return NULL;
    }
    if (!is_tracefs || strcmp(words[3], "/") != 0)
        return NULL;
    user_events_unescape(words[4]);
    return words[4];
}

/* Opens user_events_data in the first tracefs of /proc/self/mountinfo that has it. */
USER_EVENTS_INLINE int user_events_open_mounted(void) {
    FILE* const mounts = fopen("/proc/self/mountinfo", "re");
    char* line = NULL;
    size_t capacity = 0;
    int result = -ENOENT;

    if (!mounts)
        return -errno;
    while (result < 0 && getline(&line, &capacity, mounts) > 0) {
        const char* const place = user_events_place_of_tracefs(line);
        char path[PATH_MAX];
        int descriptor;

        if (!place)
            continue;
        snprintf(path, sizeof(path), "%s/user_events_data", place);
        descriptor = user_events_open_path(path);
        if (descriptor >= 0 || result == -ENOENT)
            result = descriptor;
    }
    free(line);
    fclose(mounts);
    return result;
}

/* Whether the environment switches the library off. */
USER_EVENTS_INLINE int user_events_is_off(void) {
    const char* const wanted = secure_getenv("USER_EVENTS");

    return wanted && strcmp(wanted, "off") == 0;
}

/*
 * Finds and opens the file: the one in the environment variable USER_EVENTS_FILE, or else
 * /dev/user_events/default, or else user_events_data in a tracefs. The variables are ignored in
 * programs with the set-user-ID bit and the like.
 *
 * Returns the descriptor, or minus an errno: ECANCELED if the environment has USER_EVENTS=off,
 * ENOENT if there is no such file, or the reason why the first existing one cannot be opened.
 */
USER_EVENTS_INLINE int user_events_find_and_open(void) {
    static const char* const places[] = {
        "/dev/user_events/default",
        "/sys/kernel/tracing/user_events_data",
        "/sys/kernel/debug/tracing/user_events_data",
    };
    const char* const path = secure_getenv("USER_EVENTS_FILE");
    int reason = -ENOENT;

    if (user_events_is_off())
        return -ECANCELED;
    if (path && *path)
        return user_events_open_path(path);
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

/* Returns the descriptor, with a number of at least `least` if there is one. */
USER_EVENTS_INLINE int user_events_move_up(int descriptor, int least) {
    struct rlimit limit;
    int moved;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= (rlim_t)least)
        least = (int)(limit.rlim_cur - limit.rlim_cur / 4);
    moved = fcntl(descriptor, F_DUPFD_CLOEXEC, least);
    if (moved < 0)
        return descriptor;
    close(descriptor);
    return moved;
}

/*
 * Uses a descriptor, or with minus an errno, none. A file that was open before keeps its mark, and
 * gets a higher number: what still uses the old number then fails. Changes errno. Returns 0 or an
 * errno.
 */
USER_EVENTS_INLINE int user_events_file_use(struct user_events_file* file, int descriptor) {
    const int before = file->descriptor;
    struct stat status;

    if (descriptor < 0) {
        __atomic_store_n(&file->descriptor, -1, __ATOMIC_RELAXED);
        return -descriptor;
    }
    descriptor = user_events_move_up(
        descriptor, before >= USER_EVENTS_DESCRIPTOR_MIN ? before + 1 : USER_EVENTS_DESCRIPTOR_MIN);
    if (fstat(descriptor, &status) != 0) {
        const int error = errno;

        close(descriptor);
        return error;
    }
    if (!file->mark)
        __atomic_store_n(&file->mark, 1 + descriptor % 63, __ATOMIC_RELAXED);
    fcntl(descriptor, F_SETSIG, file->mark);
    __atomic_store_n(&file->device, (uint64_t)status.st_dev, __ATOMIC_RELAXED);
    __atomic_store_n(&file->inode, (uint64_t)status.st_ino, __ATOMIC_RELAXED);
    __atomic_store_n(&file->descriptor, descriptor, __ATOMIC_RELAXED);
    __atomic_store_n(&file->epoch, user_events_epoch(), __ATOMIC_RELEASE);
    return 0;
}

/* Opens the file that events are written to. Changes errno. Returns 0 or an errno. */
USER_EVENTS_INLINE int user_events_file_open(struct user_events_file* file) {
    return user_events_file_use(file, user_events_find_and_open());
}

/*
 * Checks that the descriptor is still this file, and if so, notes the epoch. Async-signal-safe.
 * Changes errno. Returns nonzero if it is.
 */
USER_EVENTS_INLINE int user_events_file_check(struct user_events_file* file) {
    const uint32_t epoch = user_events_epoch();
    const int descriptor = __atomic_load_n(&file->descriptor, __ATOMIC_ACQUIRE);
    struct stat status;

    if (descriptor < 0 || fstat(descriptor, &status) != 0 ||
        (uint64_t)status.st_dev != __atomic_load_n(&file->device, __ATOMIC_RELAXED) ||
        (uint64_t)status.st_ino != __atomic_load_n(&file->inode, __ATOMIC_RELAXED) ||
        fcntl(descriptor, F_GETSIG) != __atomic_load_n(&file->mark, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(&file->epoch, epoch, __ATOMIC_RELAXED);
    return 1;
}

/* Closes the file, if the descriptor is still this file. Changes errno. */
USER_EVENTS_INLINE void user_events_file_close(struct user_events_file* file) {
    if (user_events_file_check(file))
        close(file->descriptor);
    __atomic_store_n(&file->descriptor, -1, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
