// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <cstddef>
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
};

/// The name of the point in which this answer is known to differ between the kernel's own
/// user_events (`in_tree`) and the module, or nullptr. A point applies to the answers of either
/// that the table gives, and to no others.
const char* known_difference(const Call& call, const selftest::Outcome& outcome, bool in_tree);

} // namespace differential
