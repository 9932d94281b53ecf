// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of encodings, which say how many bytes a value has, and of formats, which say what the
// bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tool::eventheader {

/// Where a value ends. `counted` values begin with a u16, the number of units. A `date` says itself
/// which of two sizes it has, see meaning::date.
enum class shape : std::uint8_t { unknown, structure, fixed, terminated, counted, date };

enum class meaning : std::uint8_t {
    none,
    null,
    natural,
    integer,
    hexadecimal,
    error_number,
    process,
    time, // seconds since 1970
    truth,
    real,
    bytes,
    latin1,
    utf,
    marked_utf, // may begin with a byte order mark
    uuid,
    port,
    address,
    // Of .NET, and of no format of EventHeader.
    guid, // a UUID whose first three parts are little-endian
    // 8 bytes: units of 100 ns since 1601. 16 bytes: eight numbers, from the year to milliseconds.
    date,
};

struct encoding {
    eventheader::shape shape;
    std::uint8_t unit; // bytes of a unit
    /// What a value means whose format is unknown, or does not fit the encoding.
    eventheader::meaning usual;
    /// Whether a format of fixed size may be used; the length 0 then means null.
    bool is_nullable;
};

/// The encoding of a number of 5 bits. Its shape is `unknown` if there is none.
const encoding& encoding_of(std::uint8_t number) noexcept;

/// What a value of this size, in bytes, means. The format may be any number.
meaning meaning_of(const encoding& encoding, std::uint8_t format, std::size_t size) noexcept;

constexpr bool is_text(meaning meaning) noexcept {
    return meaning == meaning::latin1 || meaning == meaning::utf || meaning == meaning::marked_utf;
}

} // namespace tool::eventheader
