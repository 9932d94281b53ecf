// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "tracing.hpp"

#include <string>

namespace selftest {

/// A rule for an event in an instance, such as "EVENT instance=NAME limit=5/s if cents > 3".
std::string rule_text(const Event& event, const Instance& instance, const std::string& options,
                      const std::string& rest = "");

/// The number after "suppressed " in a comment of the status or of a rule; 0 without one.
unsigned long suppressed(const std::string& comment);

} // namespace selftest
