// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <thread>

namespace selftest {

/// The time limit for asynchronous work of the kernel. It is long because an emulated machine is
/// slow, and other load on the host slows it further.
inline constexpr std::chrono::seconds wait_limit{120};

/// Polls until the condition holds. Returns false if it does not hold within the limit. Sleeps as
/// long as a check takes, so that polling uses at most half of the CPU.
template <std::predicate Condition>
bool eventually(Condition&& condition, std::chrono::milliseconds limit = wait_limit) {
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

/// Counts the rounds of a loop that runs until a time limit, but at least `least` and at most
/// `most` rounds.
class Rounds {
public:
    Rounds(unsigned least, unsigned most, std::chrono::seconds limit)
        : least_(least), most_(most), end_(std::chrono::steady_clock::now() + limit) {}

    /// Starts a round, or returns false: then the loop must stop.
    bool next() {
        if (started_ >= least_ && (started_ >= most_ || std::chrono::steady_clock::now() >= end_))
            return false;
        started_++;
        return true;
    }
    unsigned started() const { return started_; }

private:
    unsigned least_, most_, started_ = 0;
    std::chrono::steady_clock::time_point end_;
};

} // namespace selftest
