// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "registered.hpp"

#include <cstdint>
#include <string>
#include <vector>

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

/// The number of records that write_records() writes.
inline constexpr std::int32_t every_type_records = 5;

/// Writes records numbered from 1. Returns the expected texts of the records above number `above`.
std::vector<std::string> write_records(EveryType& every, std::int32_t above = 0);

} // namespace selftest
