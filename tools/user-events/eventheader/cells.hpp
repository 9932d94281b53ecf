// SPDX-License-Identifier: GPL-2.0-or-later
// An event as a row of a table.
#pragma once

#include "eventheader/show.hpp"
#include "eventheader/value.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tool::eventheader {

struct cell {
    std::string name = {};
    std::string text = {}; // not escaped
    bool is_text = false;  // from the program, so that it may look like a formula
    number_kind kind = number_kind::none;
    /// The bits of the number, of 64 bits.
    std::uint64_t number = 0;
};

/// Makes rows. Each uses the memory of the one before.
class cell_row {
public:
    /// The cells are the header; if not all could be decoded, the reason and the bytes that are
    /// left; and the fields, by dotted names. The header's cells are the same for all events.
    /// Events with the same descriptions have the same cells if all could be decoded, because an
    /// array is one cell. An array of structs is JSON there. `more` is a text for one more cell of
    /// this name, if no field has the name. The cells exist until the next call.
    std::span<const cell> fill(const shown_event& shown, const char* name = nullptr,
                               const std::optional<std::string>& more = {});
    /// Whether all could be decoded.
    bool is_complete() const noexcept { return is_complete_; }

private:
    void fill_header(const shown_event& shown);

    /// What the cells of the header have. Most events have the same as the one before.
    struct header {
        std::uint64_t keyword = 0;
        std::uint16_t id = 0;
        std::uint16_t tag = 0;
        std::uint8_t version = 0;
        std::uint8_t opcode = 0;
        std::uint8_t level = 0;

        bool operator==(const header&) const = default;
    };

    std::vector<cell> cells_;
    header header_ = {};
    bool is_complete_ = true;
};

} // namespace tool::eventheader
