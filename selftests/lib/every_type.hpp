// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "tracing.hpp"
#include "user_events.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace selftest {

/// An event with a field of every type, and how libtraceevent prints its records. That is not
/// always what they say: of numbers of 8 and 16 bits it reads none as negative, of a structure it
/// prints what would be a number, and of what is no string behind a location the location.
struct EveryType {
    EveryType();

    /// Writes a record; `number` makes it differ from others. Returns how it is to be printed.
    std::string record(std::int32_t number);
    std::string full_name() const { return event.system() + ":" + event.name(); }

    Word word{0};
    DataFile file;
    const Event event;
    const std::uint32_t index;
};

/// How many records write_records() writes.
inline constexpr std::int32_t records = 5;

/// Writes records, and returns how those with numbers above `above` are to be printed.
std::vector<std::string> write_records(EveryType& every, std::int32_t above = 0);

} // namespace selftest
