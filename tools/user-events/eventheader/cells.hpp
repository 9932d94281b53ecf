// SPDX-License-Identifier: GPL-2.0-or-later
// An event as a row of a table.
#pragma once

#include "eventheader/show.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool::eventheader {

/// What a cell has besides its text: nothing, or a number as it was.
enum class number_kind : std::uint8_t { none, natural, integer, real };

struct cell {
    std::string name;
    std::string text; // not escaped
    bool is_text;     // from the program, so that it may look like a formula
    number_kind kind = number_kind::none;
    /// The bits of the number, of 64 bits.
    std::uint64_t number = 0;
};

/// The header, the reason why not all could be decoded with the bytes, and the fields, by dotted
/// names. The header's cells are always the same ones, and so are those of events whose fields have
/// the same descriptions: an array is one cell. An array of structs is JSON there.
std::vector<cell> to_cells(const shown_event& shown);

} // namespace tool::eventheader
