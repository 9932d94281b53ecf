// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <sched.h>
#include <stdexcept>

namespace selftest {

/// Keeps the thread on one of the CPUs that it may use, for as long as the object lives.
class OnCpu {
public:
    /// Counts the CPUs from 0.
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
