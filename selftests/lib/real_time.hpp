// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "on_cpu.hpp"
#include "outcome.hpp"

#include <chrono>
#include <sched.h>

namespace selftest {

/// Keeps new children of this thread from running for the lifetime of the object: the thread has
/// real-time priority. Its children inherit the CPU that it is pinned to, but not the priority.
class RealTimePriority {
public:
    /// Throws std::system_error.
    RealTimePriority() {
        const sched_param parameter{50};
        if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) != 0)
            throw_errno("real-time scheduling");
    }
    RealTimePriority(const RealTimePriority&) = delete;
    RealTimePriority& operator=(const RealTimePriority&) = delete;
    ~RealTimePriority() {
        const sched_param parameter{0};
        sched_setscheduler(0, SCHED_OTHER, &parameter);
    }

    /// Returns whether no child can have run so far. Real-time throttling lets other tasks run
    /// after about a second.
    bool not_throttled() const {
        return std::chrono::steady_clock::now() - start_ < std::chrono::milliseconds(500);
    }

private:
    const OnCpu cpu_{0};
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace selftest
