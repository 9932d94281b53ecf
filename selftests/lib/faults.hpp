// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "outcome.hpp"

#include <functional>
#include <sys/types.h>

namespace selftest {

/// What came of a call in which something failed.
struct Attempt {
    /// Whether anything did fail: the call may have less in it that can.
    bool hit = false;
    /// Of the call: its errno, or 0.
    int error = 0;
    /// Of the same call once more, undisturbed, where the first one failed.
    int again = 0;
};

/// Makes allocations, and copies from and to user memory, fail: the n-th one that a task comes to
/// in the code of modules or in what that calls. Needs a kernel with fault injection, the filter by
/// stack trace included.
class Faults {
public:
    /// For a task, by default the calling thread. Throws std::system_error where the kernel lacks
    /// it.
    explicit Faults(pid_t task = 0);

    /// From the next system call on, the n-th thing that can fail does so, and nothing after it.
    void arm(unsigned n);
    /// Ends that. Returns whether something has failed.
    bool disarm();

    /// Makes a call with the n-th failing, and again if it did not go well.
    Attempt attempt(unsigned n, const std::function<Outcome()>& call);

private:
    Descriptor file_;
};

/// Has the next pages that are wanted for another program's memory not be there, as long as the
/// object lives. Throws as above.
class NoPages {
public:
    explicit NoPages(unsigned count);
    NoPages(const NoPages&) = delete;
    NoPages& operator=(const NoPages&) = delete;
    ~NoPages();

    /// How many are still to be missed.
    unsigned left() const;
};

} // namespace selftest
