/* SPDX-License-Identifier: MIT */
/*
 * The file that events are registered with and written to, once it is open. For C11 and C++; the
 * parts of the library share it. Programs use user_events.h or user_events.hpp.
 */
#ifndef USER_EVENTS_FILE_H
#define USER_EVENTS_FILE_H

#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/**
 * struct user_events_reg - the argument of USER_EVENTS_REG
 * @size: sizeof(struct user_events_reg), in bytes
 * @enable_bit: number of the enable bit in its word
 * @enable_size: size of that word in bytes: 4 or 8
 * @flags: USER_EVENTS_PERSIST, USER_EVENTS_MULTI_FORMAT
 * @enable_addr: address of the word
 * @name_args: address of the command
 * @write_index: set by the kernel
 */
struct user_events_reg {
    uint32_t size;
    uint8_t enable_bit;
    uint8_t enable_size;
    uint16_t flags;
    uint64_t enable_addr;
    uint64_t name_args;
    uint32_t write_index;
} __attribute__((__packed__));

/**
 * struct user_events_unreg - the argument of USER_EVENTS_UNREG
 * @size: sizeof(struct user_events_unreg), in bytes
 * @disable_bit: the enable_bit of the registration
 * @reserved: 0
 * @disable_addr: the enable_addr of the registration
 */
struct user_events_unreg {
    uint32_t size;
    uint8_t disable_bit;
    uint8_t reserved[3];
    uint64_t disable_addr;
} __attribute__((__packed__));

#define USER_EVENTS_PERSIST 1u
#define USER_EVENTS_MULTI_FORMAT 2u

/* The numbers contain the size of a pointer. */
#define USER_EVENTS_REG _IOWR('*', 0, struct user_events_reg*)
#define USER_EVENTS_UNREG _IOW('*', 2, struct user_events_unreg*)

/* The longest command, in bytes without its NUL. */
#define USER_EVENTS_COMMAND_MAX 511

#ifdef __cplusplus
static_assert(sizeof(struct user_events_reg) == 28, "the ABI's size");
static_assert(sizeof(struct user_events_unreg) == 16, "the ABI's size");
#else
_Static_assert(sizeof(struct user_events_reg) == 28, "the ABI's size");
_Static_assert(sizeof(struct user_events_unreg) == 16, "the ABI's size");
#endif

/* The casts are those of C. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
inline namespace USER_EVENTS_C_LAYOUT {
#endif

/* Each program and shared library has its own copy, so that one can be unloaded. */
#ifdef __cplusplus
#define USER_EVENTS_INLINE __attribute__((__visibility__("hidden"))) inline
#define USER_EVENTS_OUT_OF_LINE __attribute__((__noinline__)) USER_EVENTS_INLINE
#else
#define USER_EVENTS_INLINE static inline
#define USER_EVENTS_OUT_OF_LINE static __attribute__((__noinline__, __unused__))
#endif

/*
 * At a system call, the kernel clears the registers of SVE: all of p0 to p15, and z0 to z31 but for
 * the part that they share with v0 to v31.
 */
#ifdef __ARM_FEATURE_SVE
#define USER_EVENTS_SVE_REGISTERS                                                                  \
    , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",      \
        "p14", "p15", "z0", "z1", "z2", "z3", "z4", "z5", "z6", "z7", "z8", "z9", "z10", "z11",    \
        "z12", "z13", "z14", "z15", "z16", "z17", "z18", "z19", "z20", "z21", "z22", "z23", "z24", \
        "z25", "z26", "z27", "z28", "z29", "z30", "z31"
#else
#define USER_EVENTS_SVE_REGISTERS
#endif

/* Returns what the system call returns: minus an errno on failure. Does not change errno. */
USER_EVENTS_INLINE long user_events_call(long number, long first, const void* data, size_t count) {
#if defined(__x86_64__)
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(first), "S"(data), "d"(count)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long number_in_register __asm__("x8") = number;
    register long result __asm__("x0") = first;
    register const void* second __asm__("x1") = data;
    register size_t third __asm__("x2") = count;

    __asm__ volatile("svc #0"
                     : "+r"(result)
                     : "r"(number_in_register), "r"(second), "r"(third)
                     : "memory" USER_EVENTS_SVE_REGISTERS);
    return result;
#else
    const int before = errno;
    long result = syscall(number, first, data, count);

    if (result < 0) {
        result = -errno;
        errno = before;
    }
    return result;
#endif
}

USER_EVENTS_INLINE long user_events_write(int descriptor, const void* data, size_t size) {
    return user_events_call(SYS_write, descriptor, data, size);
}

USER_EVENTS_INLINE long user_events_writev(int descriptor, const struct iovec* parts, int count) {
    return user_events_call(SYS_writev, descriptor, parts, (size_t)count);
}

/* Writes one part or several. For one, write() costs the kernel less. */
USER_EVENTS_INLINE long user_events_write_parts(int descriptor, const struct iovec* parts,
                                                int count) {
    return count == 1 ? user_events_write(descriptor, parts->iov_base, parts->iov_len)
                      : user_events_writev(descriptor, parts, count);
}

/* Opens a file. Returns the descriptor, or minus an errno. */
USER_EVENTS_INLINE int user_events_open(const char* path, int flags) {
    return (int)user_events_call(SYS_openat, AT_FDCWD, path, (size_t)flags);
}

USER_EVENTS_INLINE long user_events_read(int descriptor, void* data, size_t size) {
    return user_events_call(SYS_read, descriptor, data, size);
}

USER_EVENTS_INLINE void user_events_close(int descriptor) {
    user_events_call(SYS_close, descriptor, NULL, 0);
}

/*
 * Fills memory with random bytes, and returns nonzero; 0 if a sandbox refuses that, or if the
 * kernel has none yet, early in the boot.
 */
USER_EVENTS_INLINE int user_events_random(void* to, size_t size) {
    const long no_wait = 1; /* GRND_NONBLOCK */

    return user_events_call(SYS_getrandom, (long)to, (const void*)size, (size_t)no_wait) ==
           (long)size;
}

/*
 * Returns a number that changes every few milliseconds, and not back. Takes three instructions on
 * x86-64, because each record reads it. Always the same with USER_EVENTS_NO_CHECKS.
 */
USER_EVENTS_INLINE uint32_t user_events_epoch(void) {
#if defined(USER_EVENTS_NO_CHECKS)
    return 0;
#elif defined(__x86_64__)
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    __asm__("shrd $24, %1, %0" : "+r"(low) : "r"(high) : "cc");
    return low;
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return (uint32_t)(ticks >> 18);
#else
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint32_t)now.tv_sec * 128 + (uint32_t)now.tv_nsec / 8000000;
#endif
}

/* The C library declares this for _GNU_SOURCE only, which C++ compilers define. */
#ifndef __cplusplus
extern char* secure_getenv(const char* name);
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

/* The C library defines these for _GNU_SOURCE only, which C++ compilers define. */
#ifndef F_SETSIG
#define F_SETSIG 10
#define F_GETSIG 11
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
