// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/line_editor.hpp"

#include "text/escape.hpp"

namespace tool::text {

namespace {

/// More than a user types: what a terminal sends may have no end.
constexpr std::size_t longest = 1000;

void remove_last_character(std::string& line) {
    while (!line.empty()) {
        const bool is_continued = is_continuation(line.back());
        line.pop_back();
        if (!is_continued)
            return;
    }
}

} // namespace

line_editor::result line_editor::take(unsigned char byte) {
    switch (byte) {
    case '\r':
    case '\n':
        return result::entered;
    case 0x1b:
        return result::cancelled;
    case '\b':
    case 0x7f:
        remove_last_character(line_);
        break;
    case 'U' - '@':
        line_.clear();
        break;
    default:
        if (byte >= ' ' && line_.size() < longest)
            line_ += static_cast<char>(byte);
    }
    return result::typing;
}

} // namespace tool::text
