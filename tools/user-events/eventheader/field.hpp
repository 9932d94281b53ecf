// SPDX-License-Identifier: GPL-2.0-or-later
// The description of a field, in an event's metadata.
#pragma once

#include "eventheader/encodings.hpp"
#include "eventheader/reason.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tool::eventheader {

/// How deep structs may be nested.
inline constexpr unsigned most_nested = 8;
/// How many descriptions are read for one event, so that no event takes long; one that has more
/// bytes than step_size counts more than once. Those of the fields in an array of structs are read
/// for each struct.
inline constexpr unsigned most_descriptions = 1 << 16;
inline constexpr std::size_t step_size = 64;
/// What is shown of a name, which an array of structs repeats for each of its structs.
inline constexpr std::size_t longest_name = 256;

enum class array : std::uint8_t { none, constant, variable };

struct field {
    std::string_view name = {};
    eventheader::encoding encoding = {};
    /// For a struct, the number of its fields.
    std::uint8_t format = 0;
    bool has_tag = false;
    std::uint16_t tag = 0;
    eventheader::array array = array::none;
    /// Of a constant array.
    std::uint16_t length = 0;

    bool is_struct() const noexcept { return encoding.shape == shape::structure; }
    bool is_array() const noexcept { return array != array::none; }
};

/// Takes a description, which may have any bytes, from the cursor. Subtracts from `steps` what the
/// description costs. After an error, the cursor has not moved.
reason take_field(cursor& from, field& to, unsigned& steps) noexcept;

/// The descriptions of fields that are still to be taken: the bytes in a payload, or what was read
/// before. The fields of a struct are behind it.
class descriptions {
public:
    descriptions() = default;
    explicit descriptions(cursor bytes) noexcept : bytes_(bytes) {}
    /// A field without a known encoding ends the event.
    explicit descriptions(std::span<const field> read) noexcept : read_(read) {}

    bool is_at_end() const noexcept { return bytes_.is_at_end() && read_.empty(); }
    /// The bytes from here on; none if they were read before.
    eventheader::bytes rest() const noexcept { return bytes_.rest(); }

    /// As take_field().
    reason take(field& to, unsigned& steps) noexcept;

private:
    cursor bytes_;
    std::span<const field> read_;
};

/// Skips the descriptions of so many fields, or of those that are left, with those of the fields in
/// structs. `depth` is the number of structs that the fields are in.
reason skip_fields(descriptions& from, unsigned count, unsigned depth, unsigned& steps) noexcept;

} // namespace tool::eventheader
