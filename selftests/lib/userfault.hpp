// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "mapping.hpp"

namespace selftest {

/// Memory whose faults user space answers. Whoever touches it waits, in the kernel too, until
/// answer() or until the last descriptor of it is closed.
class Userfault {
public:
    enum class Of {
        /// Pages that are not there. What the memory held is dropped.
        missing,
        /// Pages that are there, when they are written to. They must have been touched.
        writing,
    };

    explicit Userfault(const Mapping& memory, Of kind = Of::missing);

    /// Whether somebody waits.
    bool is_waited_for() const { return is_waited_for(file_); }
    /// The same, of the memory behind a descriptor that another process has passed.
    static bool is_waited_for(const Descriptor& file);

    /// Lets everybody go on: missing pages become zero, others writable.
    void answer();

    /// Has whoever waits look again, and take the lock of the mappings for that, which answer()
    /// takes itself.
    static void wake(const Descriptor& file, const Mapping& memory);
    void wake() const { wake(file_, memory_); }

    int descriptor() const { return file_.number(); }

private:
    const Mapping& memory_;
    Of kind_;
    Descriptor file_;
};

/// Stops forks of this process where the memory has been copied and the child is still to come:
/// they wait until go_on(), or until the object goes.
class ForkStop {
public:
    ForkStop();

    /// Whether a fork waits.
    bool is_waited_for() const { return Userfault::is_waited_for(file_); }

    /// Lets the one that waits go on.
    void go_on();

private:
    Mapping memory_{1};
    Descriptor file_;
};

} // namespace selftest
