// SPDX-License-Identifier: GPL-2.0-or-later
// Values in the words of people: `EPERM(1)`, `127.0.0.1`, `2033-05-18T03:33:20Z`.
#pragma once

#include "eventheader/event.hpp"
#include "eventheader/value.hpp"

#include <string>
#include <string_view>

namespace tool::eventheader {

/// Appends any value but null as UTF-8, without quotes and escapes.
void append_words(std::string& to, const value& value);

/// Whether append_words() makes a number, `true` or `false` of it, which need no quotes in JSON.
bool is_bare(const value& value) noexcept;

/// Appends a number as `0x1F`.
void append_bits(std::string& to, std::uint64_t number);

/// As UUIDs are written. For 16 bytes.
void append_uuid(std::string& to, bytes data);

/// The name of a level or an opcode, or an empty text for a number that has none.
std::string_view level_name(std::uint8_t level) noexcept;
std::string_view opcode_name(std::uint8_t opcode) noexcept;

/// The name, or the number if it has none and is not 0.
std::string level_text(std::uint8_t level);
std::string opcode_text(std::uint8_t opcode);
/// The UUID of an activity; empty if there is none.
std::string activity_text(const activity& activity);

} // namespace tool::eventheader
