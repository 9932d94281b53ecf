// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "registered.hpp"
#include "tool.hpp"

#include <cstdint>
#include <string>

namespace selftest {

/// An event with a field of every type.
struct EveryType : Registered {
    EveryType();

    /// Writes a record with values that depend on `number`. Returns the text that libtraceevent is
    /// expected to print for it. For some types, libtraceevent does not print the value written: it
    /// prints 8- and 16-bit numbers as unsigned, a structure as a number, and a dynamic field that
    /// is not a string as its location. Throws std::system_error.
    std::string record(std::int32_t number);
};

/// Checks that a tool sets the bit while it records, and reports each record; with a filter, those
/// that pass it. `filter` is the tool's option for that, `all` the one to record all programs.
void check_reported(ToolFile::Tool tool, const std::string& all, const std::string& filter);

} // namespace selftest
