// SPDX-License-Identifier: GPL-2.0-or-later
// The value of a field, or of an element of an array.
#pragma once

#include "eventheader/field.hpp"
#include "eventheader/number.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace tool::eventheader {

struct value {
    eventheader::meaning meaning = meaning::none;
    /// The bytes in the payload, without a length and without a NUL.
    bytes data = {};
    /// Of the characters of text.
    std::uint8_t unit = 0;
    bool is_big_endian = false;

    /// Numbers, for meanings of which the data have 1 to 8 bytes.
    std::uint64_t natural() const noexcept { return to_number(data, is_big_endian); }
    std::int64_t integer() const noexcept { return to_signed_number(data, is_big_endian); }
    /// For the meaning `real`. A number of 4 bytes is exact as a double.
    double real() const noexcept;
};

/// What is a number for people; nothing for text, bytes, UUIDs, addresses, null, and numbers of
/// more than 64 bits.
std::optional<number> number_of(const value& value) noexcept;

/// Which kind of number a value is in JSON, or none.
enum class number_kind : std::uint8_t { none, natural, integer, real };
/// Returns the kind, and the number as 64 bits.
std::pair<number_kind, std::uint64_t> bits_of(const value& value) noexcept;

/// Takes a value of a field that is no struct. After an error, the cursor has not moved.
reason take_value(cursor& from, const field& field, value& to) noexcept;

} // namespace tool::eventheader
