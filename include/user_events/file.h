/* SPDX-License-Identifier: MIT */
/*
 * The file that events are registered with and written to, once it is open. For C11 and C++; the
 * parts of the library share it. Programs use user_events.h or user_events.hpp.
 */
#ifndef USER_EVENTS_FILE_H
#define USER_EVENTS_FILE_H

#include "find.h"
#include "system_call.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* The C library defines these for _GNU_SOURCE only, which C++ compilers define. */
#ifndef F_SETSIG
#define F_SETSIG 10
#define F_GETSIG 11
#endif

/* The casts are those of C. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
inline namespace USER_EVENTS_C_LAYOUT {
#endif

/* For what is accessed atomically. */
#define USER_EVENTS_ALIGNED __attribute__((__aligned__(8)))

/*
 * An open file. A program may close the descriptor without the library's knowledge (closefrom() in
 * a daemon), and the number may then be used for another file. Nothing may be written to that one.
 * So the descriptor has a high number, which the kernel gives to other files last, and is checked
 * again in each epoch of some milliseconds.
 *
 * @descriptor: -1 if there is none
 * @epoch: the epoch in which the descriptor was found to be this file
 * @device, @inode, @mark: what identifies the file. The mark is kept in the open file by F_SETSIG,
 *	which has no other effect on it. It tells apart two descriptors of the same file, for
 *	example those of two shared libraries.
 * @last: the last high number that the descriptor had, also if it is closed, or -1
 *
 * All members but the last one are accessed atomically: those of 64 bits need their alignment also
 * where it is not that of their type, on 32-bit x86.
 */
struct user_events_file {
    int descriptor;
    uint32_t epoch;
    uint64_t device USER_EVENTS_ALIGNED;
    uint64_t inode USER_EVENTS_ALIGNED;
    int mark;
    int last;
};

/*
 * Descriptors have numbers below this one: each fork() copies the table of descriptors up to the
 * highest one that is open, so that a number close to a limit of 8192 would double its cost.
 */
#define USER_EVENTS_DESCRIPTOR_MAX 256

/*
 * Returns nonzero if the descriptor is this file. If a sandbox refuses the calls, it counts as this
 * file. Async-signal-safe. Changes errno.
 */
USER_EVENTS_INLINE int user_events_file_is_open(const struct user_events_file* file) {
    const int descriptor = __atomic_load_n(&file->descriptor, __ATOMIC_ACQUIRE);
    struct stat status;
    int mark;

    if (descriptor < 0)
        return 0;
#ifndef USER_EVENTS_NO_CHECKS
    /*
     * First, because the number may be that of a file which another thread has just opened:
     * ThreadSanitizer reports fstat() then as a race.
     */
    mark = fcntl(descriptor, F_GETSIG);
    if (mark < 0 ? errno == EBADF : mark != __atomic_load_n(&file->mark, __ATOMIC_RELAXED))
        return 0;
    if (fstat(descriptor, &status) != 0) {
        if (errno == EBADF)
            return 0;
    } else if ((uint64_t)status.st_dev != __atomic_load_n(&file->device, __ATOMIC_RELAXED) ||
               (uint64_t)status.st_ino != __atomic_load_n(&file->inode, __ATOMIC_RELAXED)) {
        return 0;
    }
#else
    (void)file;
    (void)status;
    (void)mark;
#endif
    return 1;
}

/*
 * Returns a number of 15 bits that depends on the address of the file. Other files of the process,
 * which may be the same device with the same number, mostly have other ones.
 */
USER_EVENTS_INLINE int user_events_file_hash(const struct user_events_file* file) {
    return (int)((uint32_t)((uintptr_t)file >> 3) * 2654435761u >> 17);
}

/*
 * Returns a copy of a descriptor with a high number; if all of these are taken, -1. Changes errno.
 *
 * closefrom() closes all files of the process, and each of them is opened again when it is checked.
 * Until then, threads write to its old number, which no other file must get. So the high numbers
 * have two halves, and the address of the file tells its place in each. It takes the place in one
 * half, and after that the place in the other half. If others have these numbers, it gets the next
 * free one.
 */
USER_EVENTS_INLINE int user_events_file_copy_up(struct user_events_file* file, int descriptor) {
    const int before = file->last;
    struct rlimit limit;
    int end = USER_EVENTS_DESCRIPTOR_MAX, least, half, place, copy;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < USER_EVENTS_DESCRIPTOR_MAX)
        end = (int)limit.rlim_cur;
    half = end < 8 ? 1 : end / 8;
    least = end - 2 * half;
    place = least + user_events_file_hash(file) % half;
    if (before >= least && before < least + half)
        place += half;
    copy = fcntl(descriptor, F_DUPFD_CLOEXEC, place);
    if (copy < 0)
        copy = fcntl(descriptor, F_DUPFD_CLOEXEC, least);
    if (copy >= 0)
        file->last = copy;
    return copy;
}

/*
 * Makes `descriptor`, of a file just opened, the file's. If it is negative (minus an errno), the
 * file has none from now on. A file that was open before keeps its mark, and gets another number:
 * what still uses the old number then fails. Changes errno. Returns 0 or an errno.
 */
USER_EVENTS_INLINE int user_events_file_use(struct user_events_file* file, int descriptor) {
    struct stat status;

    if (descriptor >= 0) {
        const int copy = user_events_file_copy_up(file, descriptor);

        if (copy >= 0) {
            user_events_close(descriptor);
            descriptor = copy;
        }
        if (fstat(descriptor, &status) != 0) {
            const int error = errno;

            user_events_close(descriptor);
            descriptor = -error;
        }
    }
    if (descriptor < 0) {
        __atomic_store_n(&file->descriptor, -1, __ATOMIC_RELAXED);
        return -descriptor;
    }
    if (!file->mark)
        /*
         * No real-time signal: an emulator such as qemu-user maps these to others. Files of one
         * place mostly have different upper bits of the hash.
         */
        __atomic_store_n(&file->mark, 1 + (descriptor + (user_events_file_hash(file) >> 7)) % 31,
                         __ATOMIC_RELAXED);
    if (fcntl(descriptor, F_SETSIG, file->mark) != 0) {
        /* The file has another mark, mostly 0. It would otherwise count as lost at each check. */
        const int mark = fcntl(descriptor, F_GETSIG);

        if (mark >= 0)
            __atomic_store_n(&file->mark, mark, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&file->device, (uint64_t)status.st_dev, __ATOMIC_RELAXED);
    __atomic_store_n(&file->inode, (uint64_t)status.st_ino, __ATOMIC_RELAXED);
    __atomic_store_n(&file->descriptor, descriptor, __ATOMIC_RELAXED);
    __atomic_store_n(&file->epoch, user_events_epoch(), __ATOMIC_RELEASE);
    return 0;
}

/*
 * Returns nonzero, and notes the epoch, if the descriptor is still this file. Otherwise
 * user_events_file_open() has to be called. Async-signal-safe. Changes errno.
 */
USER_EVENTS_INLINE int user_events_file_check(struct user_events_file* file) {
    const uint32_t epoch = user_events_epoch();

    if (!user_events_file_is_open(file))
        return 0;
    __atomic_store_n(&file->epoch, epoch, __ATOMIC_RELAXED);
    return 1;
}

/*
 * Opens the file that events are written to, which is not open. Async-signal-safe. Changes errno.
 * Returns 0 or an errno.
 */
USER_EVENTS_INLINE int user_events_file_open(struct user_events_file* file,
                                             const struct user_events_environment* environment) {
    return user_events_file_use(file, user_events_find_and_open_in(environment));
}

/* Closes the file, if the descriptor is still this file. Changes errno. */
USER_EVENTS_INLINE void user_events_file_close(struct user_events_file* file) {
    if (user_events_file_is_open(file))
        user_events_close(file->descriptor);
    __atomic_store_n(&file->descriptor, -1, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
} // namespace USER_EVENTS_C_LAYOUT
#pragma GCC diagnostic pop
#endif

#endif
