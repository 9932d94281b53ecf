/* SPDX-License-Identifier: MIT */
/*
 * System calls without the C library, and the clock of the library. For C11 and C++.
 *
 * The C library's write(), open(), read() and close() are cancellation points and set errno. An
 * event must do neither.
 */
#ifndef USER_EVENTS_SYSTEM_CALL_H
#define USER_EVENTS_SYSTEM_CALL_H

#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

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

#ifdef __cplusplus
} // namespace USER_EVENTS_C_LAYOUT
#pragma GCC diagnostic pop
#endif

#endif
