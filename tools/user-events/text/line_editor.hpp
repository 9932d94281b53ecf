// SPDX-License-Identifier: GPL-2.0-or-later
// A line that the user types while a command goes on.
#pragma once

#include <string>

namespace tool::text {

class line_editor {
public:
    enum class result { typing, entered, cancelled };

    /// Begins with an empty line.
    void begin() { line_.clear(); }

    /// Takes a byte that a terminal sends. Enter, Escape, Backspace and Ctrl-U have their usual
    /// meaning; other control characters are ignored.
    result take(unsigned char byte);

    const std::string& line() const noexcept { return line_; }

private:
    std::string line_;
};

} // namespace tool::text
