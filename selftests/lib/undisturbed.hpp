// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "on_cpu.hpp"
#include "outcome.hpp"

#include <chrono>
#include <sched.h>

namespace selftest {

/// Keeps the children of this thread from running until the end: they are on its CPU, where it has
/// precedence.
class Undisturbed {
public:
    Undisturbed() {
        const sched_param parameter{50};
        if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameter) != 0)
            throw_errno("real-time scheduling");
    }
    Undisturbed(const Undisturbed&) = delete;
    Undisturbed& operator=(const Undisturbed&) = delete;
    ~Undisturbed() {
        const sched_param parameter{0};
        sched_setscheduler(0, SCHED_OTHER, &parameter);
    }

    /// Whether that has been so until now. The kernel lets others run when a second is nearly over.
    bool lasts() const {
        return std::chrono::steady_clock::now() - start_ < std::chrono::milliseconds(500);
    }

private:
    const OnCpu cpu_{0};
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace selftest
