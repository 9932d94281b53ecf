// SPDX-License-Identifier: GPL-2.0-or-later
// Why a payload, or the rest of it, cannot be decoded.
#pragma once

#include "eventheader/cursor.hpp"

#include <cstdint>
#include <string>

namespace tool::eventheader {

enum class reason : std::uint8_t {
    none,
    header_cut_off,
    unknown_flags,
    extension_cut_off,
    extension_of_no_kind,
    two_metadata,
    two_activities,
    activity_of_wrong_size,
    no_metadata,
    no_end_of_event_name,
    too_many_fields,
    no_end_of_field_name,
    field_cut_off,
    unknown_encoding,
    two_kinds_of_array,
    empty_constant_array,
    struct_without_fields,
    too_deep,
    value_cut_off,
    no_end_of_string,
    too_many_items,
    bytes_left,
    // Of .NET.
    unknown_version,
    malformed_extension,
    names_not_known,
};

/// The reason in words, such as "a value is cut off". Empty for none.
const char* words_of(reason reason) noexcept;

/// What decoding has left: the bytes of the payload from the first one that it could not use. For
/// an event of which nothing is known, that is the whole payload.
struct failure {
    reason why = reason::none;
    bytes undecoded = {};
};

/// The reason in words, and the bytes in hexadecimal digits: "a value is cut off: 0102".
std::string words_of(const failure& failure);

} // namespace tool::eventheader
