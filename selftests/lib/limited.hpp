// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "registered.hpp"
#include "tracing.hpp"

#include <string>

namespace selftest {

/// A rule for an event in an instance, such as "EVENT instance=NAME limit=5/s if cents > 3".
std::string rule_text(const Event& event, const Instance& instance, const std::string& options,
                      const std::string& rest = "");

/// Writes a record in each of so many processes, one after the other. Returns how many of them
/// failed.
unsigned record_in_processes(Registered& registered, const Payload& payload, unsigned processes);

/// The number after "suppressed " in a comment of the status or of a rule; 0 without one.
unsigned long suppressed(const std::string& comment);

} // namespace selftest
