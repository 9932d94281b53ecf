// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <cstdint>

namespace calls {

/// System calls as a program of 32 bits makes them, by its numbers of them.
enum class Call32 : std::uint32_t { write = 4, ioctl = 54, writev = 146 };

inline selftest::Outcome call_32(Call32 call, std::uint32_t first, std::uint32_t second,
                                 std::uint32_t third) {
    auto answer = static_cast<std::int64_t>(call);
    asm volatile("int $0x80"
                 : "+a"(answer)
                 : "b"(std::uint64_t{first}), "c"(std::uint64_t{second}), "d"(std::uint64_t{third})
                 : "memory", "r8", "r9", "r10", "r11");
    const auto value = static_cast<std::int32_t>(answer);
    return value < 0 && value > -4096 ? selftest::fails(-value) : selftest::succeeds(value);
}

} // namespace calls
