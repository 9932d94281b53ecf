// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "on_cpu.hpp"
#include "outcome.hpp"

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

private:
    const OnCpu cpu_{0};
};

} // namespace selftest
