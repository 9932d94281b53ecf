// SPDX-License-Identifier: GPL-2.0-or-later
// Columns of numbers, compressed, as the page of html.cpp has them.
#pragma once

#include "recording/event_type.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool::exporting {

/// A block of columns. `head` is JSON that describes it: the caller begins and ends the text, and
/// add() appends the description of a column, {"type":...,"offset":...,"length":...}.
class packed_block {
public:
    std::string head;

    /// Adds numbers in the smallest type that holds them all. Those of kind::real are the bits of a
    /// double. All numbers in a block are little-endian.
    void add(const std::vector<std::uint64_t>& values,
             recording::kind kind = recording::kind::natural);

    /// Appends the length of the head, the head and the columns, compressed and in Base64.
    void append_to(std::string& to) const;

private:
    void add_as(const char* type, std::size_t size, const std::vector<std::uint64_t>& values);

    std::string columns_;
};

} // namespace tool::exporting
