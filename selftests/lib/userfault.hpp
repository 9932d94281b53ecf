// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "mapping.hpp"

namespace selftest {

/// Memory whose page faults the test resolves (userfaultfd). A task that accesses it, also in the
/// kernel, waits until answer() or until the last descriptor of the userfaultfd is closed.
class Userfault {
public:
    enum class Kind {
        /// Faults on absent pages. The constructor discards the memory's contents.
        missing,
        /// Write faults on present pages. The pages must have been accessed before.
        write_protect,
    };

    /// Throws std::system_error.
    explicit Userfault(const Mapping& memory, Kind kind = Kind::missing);

    /// Returns whether a task waits.
    bool has_waiter() const { return has_waiter(file_); }
    /// Returns whether a task waits for a userfaultfd that another process has passed.
    static bool has_waiter(const Descriptor& file);

    /// Resolves all faults: absent pages become zero pages, write-protected ones writable.
    void answer();

    /// Wakes the waiting tasks without resolving the fault: they take the mmap_lock again, fault
    /// again, and wait. Unlike answer(), it does not take the mmap_lock itself.
    static void wake(const Descriptor& file, const Mapping& memory);
    void wake() const { wake(file_, memory_); }

    int descriptor() const { return file_.number(); }

private:
    const Mapping& memory_;
    Kind kind_;
    Descriptor file_;
};

/// Stops each fork of this process after it has copied the memory and before the child exists. The
/// forking task waits until resume() or until the destructor runs.
class ForkStop {
public:
    /// Throws std::system_error.
    ForkStop();

    /// Returns whether a forking task waits.
    bool has_waiter() const { return Userfault::has_waiter(file_); }

    /// Resumes the waiting task. Throws std::system_error if there is none.
    void resume();

private:
    Mapping memory_{1};
    Descriptor file_;
};

} // namespace selftest
