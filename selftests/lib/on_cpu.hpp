// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <sched.h>
#include <stdexcept>

namespace selftest {

/// Pins the calling thread to a CPU for the lifetime of the object.
class OnCpu {
public:
    /// Pins to number `which`, from 0, of the CPUs that the thread may use. Throws
    /// std::system_error, or std::runtime_error if there are fewer.
    explicit OnCpu(int which) {
        if (sched_getaffinity(0, sizeof(before_), &before_) != 0)
            throw_errno("sched_getaffinity");
        if (CPU_COUNT(&before_) <= which)
            throw std::runtime_error("too few CPUs");
        int cpu = 0;
        while (!CPU_ISSET(cpu, &before_) || which-- > 0)
            cpu++;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof(one), &one) != 0)
            throw_errno("sched_setaffinity");
    }
    OnCpu(const OnCpu&) = delete;
    OnCpu& operator=(const OnCpu&) = delete;
    ~OnCpu() { sched_setaffinity(0, sizeof(before_), &before_); }

private:
    cpu_set_t before_;
};

} // namespace selftest
