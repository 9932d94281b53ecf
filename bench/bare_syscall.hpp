// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <sys/syscall.h>

namespace bench {

/// Makes a system call without the C library's code around it. Returns minus the errno of a
/// failure.
inline long bare_syscall(long number, long file, const void* data, std::size_t size) {
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(file), "S"(data), "d"(size)
                 : "rcx", "r11", "memory");
    return result;
}

} // namespace bench
