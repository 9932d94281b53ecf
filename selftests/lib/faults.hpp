// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "outcome.hpp"

#include <functional>
#include <string>

namespace selftest {

/// The result of a call with an injected fault.
struct Attempt {
    /// False if the call has fewer than n operations that can fail: then no fault was injected.
    bool injected = false;
    /// The errno of the call, or 0.
    int error = 0;
    /// If the call failed: the errno of a second call, without a fault, or 0.
    int retry_error = 0;
};

/// Injects faults into allocations, and copies from and to user memory, of the calling thread if a
/// module is on the call stack. Needs a kernel with fault injection and its stack trace filter.
class Faults {
public:
    /// Throws std::system_error if the kernel lacks fault injection.
    Faults();

    /// From the next system call on, the n-th operation that can fail does so. Injects one fault.
    void arm(unsigned n);
    /// Stops the injection. Returns whether a fault was injected since arm().
    bool disarm();

    /// Makes a call with the n-th operation failing, and once more without a fault if it fails.
    Attempt attempt(unsigned n, const std::function<Outcome()>& call);

private:
    Descriptor file_;
};

/// The same, if a function of the kernel is on the call stack instead of a module, and only for
/// allocations. There can be one object at a time.
class FaultsBelow : public Faults {
public:
    /// Throws as Faults does, and std::runtime_error if the kernel has no such function.
    explicit FaultsBelow(const std::string& function);
    FaultsBelow(const FaultsBelow&) = delete;
    FaultsBelow& operator=(const FaultsBelow&) = delete;
    ~FaultsBelow();
};

/// For the lifetime of the object, fails up to `count` page allocations for accesses to another
/// process's memory (get_user_pages). Throws as Faults does.
class PageAllocationFaults {
public:
    explicit PageAllocationFaults(unsigned count);
    PageAllocationFaults(const PageAllocationFaults&) = delete;
    PageAllocationFaults& operator=(const PageAllocationFaults&) = delete;
    ~PageAllocationFaults();

    /// Returns how many allocations are still to fail.
    unsigned remaining() const;
};

} // namespace selftest
