// SPDX-License-Identifier: GPL-2.0-only
// What is written differently for each processor.
#pragma once

#include <cstddef>
#include <sys/syscall.h>

namespace selftest {

/// Says that a loop waits. An emulator that runs one processor at a time goes on to the next one.
inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#else
    asm volatile("yield");
#endif
}

#if defined(__x86_64__) || defined(__aarch64__)
/// Calls write() without the C library.
[[gnu::always_inline]] inline long write_inline(int file, const void* data, std::size_t size) {
#if defined(__x86_64__)
    long result;
    asm volatile("syscall"
                 : "=a"(result)
                 : "0"(SYS_write), "D"(file), "S"(data), "d"(size)
                 : "rcx", "r11", "memory");
    return result;
#else
    register long result asm("x0") = file;
    register const void* from asm("x1") = data;
    register std::size_t length asm("x2") = size;
    register long number asm("x8") = SYS_write;
    asm volatile("svc 0" : "+r"(result) : "r"(from), "r"(length), "r"(number) : "memory");
    return result;
#endif
}
#endif

} // namespace selftest
