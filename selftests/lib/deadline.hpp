// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <thread>

namespace selftest {

/// How long anything may take that the kernel does in its own time. An emulated machine is slow,
/// and others may keep it from running.
inline constexpr std::chrono::seconds patience{120};

/// Polls until the condition holds. Returns whether it did so before the deadline. Half of the time
/// is left to what it waits for, also where it takes long to look.
template <std::predicate Condition>
bool eventually(Condition&& condition, std::chrono::milliseconds limit = patience) {
    using Clock = std::chrono::steady_clock;
    for (const auto deadline = Clock::now() + limit;;) {
        const auto start = Clock::now();
        if (condition())
            return true;
        const auto end = Clock::now();
        if (end > deadline)
            return false;
        std::this_thread::sleep_for(
            std::max<Clock::duration>(end - start, std::chrono::milliseconds(1)));
    }
}

/// Rounds of something that takes longer on some kernels than on others: as many as there is time
/// for, within limits.
class Rounds {
public:
    Rounds(unsigned least, unsigned most, std::chrono::seconds limit)
        : least_(least), most_(most), end_(std::chrono::steady_clock::now() + limit) {}

    /// Whether there is to be one more, which is then counted.
    bool next() {
        if (begun_ >= least_ && (begun_ >= most_ || std::chrono::steady_clock::now() >= end_))
            return false;
        begun_++;
        return true;
    }
    unsigned begun() const { return begun_; }

private:
    unsigned least_, most_, begun_ = 0;
    std::chrono::steady_clock::time_point end_;
};

} // namespace selftest
