// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "median.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <ctime>
#include <limits>

namespace bench {

/// Nanoseconds of a clock. Where QEMU counts instructions, one of them is one instruction.
inline std::uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

/// What an operation costs this time.
template <std::invocable Operation>
double cost_once(Operation&& operation, clockid_t clock = CLOCK_MONOTONIC) {
    const std::uint64_t start = now(clock);
    operation();
    return static_cast<double>(now(clock) - start);
}

/// What an operation costs that can be repeated at will: in the best of many batches, of which some
/// are free of the timer's interrupts. A batch is long enough to have what comes along now and then
/// (the next page of a ring buffer) in its share. The first ones warm up.
template <std::invocable Operation>
double cost(Operation&& operation) {
    constexpr int batches = 50, batch = 256;
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < batches; i++)
        least = std::min(least, cost_once([&] {
                             for (int j = 0; j < batch; j++)
                                 operation();
                         }));
    return least / batch;
}

/// For what can't be repeated in batches.
using selftest::median;

} // namespace bench
