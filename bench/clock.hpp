// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "median.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <ctime>
#include <limits>

namespace bench {

/// Returns a clock's time in nanoseconds. With QEMU's -icount, a nanosecond is one instruction.
inline std::uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

/// Returns the cost of one run of an operation.
template <std::invocable Operation>
double cost_once(Operation&& operation, clockid_t clock = CLOCK_MONOTONIC) {
    const std::uint64_t start = now(clock);
    operation();
    return static_cast<double>(now(clock) - start);
}

/// How often cost() runs an operation.
inline constexpr int batches = 50, batch = 256;

/// Returns the cost of an operation that can be repeated: its average in the best of many batches.
/// The best batch is one without a timer interrupt. A batch is long enough to include its share of
/// rare work, such as moving to the next page of a ring buffer. The first batches warm up.
template <std::invocable Operation>
double cost(Operation&& operation, clockid_t clock = CLOCK_MONOTONIC) {
    double least = std::numeric_limits<double>::max();
    for (int i = 0; i < batches; i++)
        least = std::min(least, cost_once(
                                    [&] {
                                        for (int j = 0; j < batch; j++)
                                            operation();
                                    },
                                    clock));
    return least / batch;
}

/// For operations that cannot be repeated in batches.
using selftest::median;

} // namespace bench
