// SPDX-License-Identifier: GPL-2.0-or-later
// Rows and columns: aligned and with a heading on a terminal; separated by tabs and without a
// heading in a pipe.
#pragma once

#include "text/output.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tool::text {

struct cell {
    /// Escaped when it is printed.
    std::string text;
    style shown = style::plain;
    bool right = false;
};

/// A cell with a number.
inline cell number(std::string text) {
    return {std::move(text), style::plain, true};
}

class table {
public:
    /// Where standard output is no terminal, there is a heading only if `is_for_people` says so.
    explicit table(std::vector<std::string> heading, bool is_for_people = false)
        : heading_(std::move(heading)), is_for_people_(is_for_people) {}

    void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }
    void print() const;

private:
    std::vector<std::string> heading_;
    bool is_for_people_;
    std::vector<std::vector<cell>> rows_;
};

/// "a, b, c"
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

} // namespace tool::text
