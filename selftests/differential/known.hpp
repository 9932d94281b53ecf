// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace differential {

/// One call, as far as it matters for what is known to differ.
struct Call {
    enum Kind { register_event, unregister, remove, write, line } kind;
    /// The words that the call names are in memory that can be written.
    bool writable = true;
    /// Of a registration or line: the command.
    std::string command = {};
    /// Of a write: the payload's size.
    std::size_t size = 0;
    /// Of a deletion: there is more than one event of the name.
    bool several = false;
};

/// A point in which answers are known to differ.
struct Difference {
    const char* point;
    /// What is left differs as well: nothing that follows can be compared.
    bool parts;
};

/// The point in which this answer is known to differ between the kernel's own user_events
/// (`in_tree`) and the module, if it is. A point applies to the answers of either that the table
/// gives, and to no others.
std::optional<Difference> known_difference(const Call& call, const selftest::Outcome& outcome,
                                           bool in_tree);

} // namespace differential
