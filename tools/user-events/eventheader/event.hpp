// SPDX-License-Identifier: GPL-2.0-or-later
// The payload of an EventHeader event: its header and its extensions. What a payload refers to has
// to exist as long as the event is used. Nothing is copied or allocated.
#pragma once

#include "eventheader/field.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tool::eventheader {

/// An activity: 16 bytes, or none.
struct activity {
    bytes data = {};
    /// Whether it is written as .NET has it, see meaning::guid.
    bool is_guid = false;

    bool empty() const noexcept { return data.empty(); }
};

/// By how many bytes a record can be longer than its event: ftrace's have whole words, and perf's
/// with the size in front of them whole 8 bytes.
inline constexpr std::uint8_t ftrace_padding = 3, perf_padding = 7;

struct event {
    /// Why the event has no fields to walk, and is shown as bytes.
    failure why_not = {};
    bytes payload = {};

    /// The header. It is valid for all reasons but header_cut_off.
    bool has_64_bit_pointers = false;
    bool is_big_endian = false;
    std::uint8_t version = 0;
    std::uint16_t id = 0;
    std::uint16_t tag = 0;
    std::uint8_t opcode = 0;
    std::uint8_t level = 0;

    eventheader::activity activity = {};
    eventheader::activity related_activity = {};

    /// As it is, with its attributes: `name;attribute=value`.
    std::string_view name_and_attributes = {};
    /// The descriptions of the fields, and the values of all of them.
    eventheader::descriptions descriptions = {};
    cursor values = {};
    /// How many bytes may be left behind the last value.
    std::uint8_t most_padding = ftrace_padding;
};

/// Reads a payload of any bytes. If that fails, the result says why.
event to_event(bytes payload, std::uint8_t most_padding = ftrace_padding) noexcept;

/// The part of an event's name up to a single semicolon, as it is: for append_unescaped().
std::string_view name_of(const event& event) noexcept;

/// Removes the next attribute from the front, with the semicolon before it, and returns it, such as
/// `a=b`. Begin with what is behind name_of().
std::string_view take_attribute(std::string_view& attributes) noexcept;

/// Appends a part of a name, with one semicolon for two.
void append_unescaped(std::string& to, std::string_view part);

} // namespace tool::eventheader
