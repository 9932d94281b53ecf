// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <cstdint>

namespace calls {

/// The numbers of system calls in 32-bit programs.
enum class Call32 : std::uint32_t { write = 4, ioctl = 54, writev = 146 };

/// Makes a system call as a 32-bit program does.
inline selftest::Outcome call_32(Call32 call, std::uint32_t first, std::uint32_t second,
                                 std::uint32_t third) {
    auto result = static_cast<std::int64_t>(call);
    asm volatile("int $0x80"
                 : "+a"(result)
                 : "b"(std::uint64_t{first}), "c"(std::uint64_t{second}), "d"(std::uint64_t{third})
                 : "memory", "r8", "r9", "r10", "r11");
    const auto value = static_cast<std::int32_t>(result);
    return value < 0 && value > -4096 ? selftest::fails(-value) : selftest::succeeds(value);
}

} // namespace calls
