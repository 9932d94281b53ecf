// SPDX-License-Identifier: GPL-2.0-or-later
// A file that is written in large pieces.
#pragma once

#include "text/new_file.hpp"

#include <string>

namespace tool::exporting {

/// A new file, or standard output if there is none. All functions throw text::failure.
class output_file {
public:
    /// The file has to exist as long as this.
    explicit output_file(text::new_file* file) : file_(file) {}

    /// What to append to. Call advance() now and then.
    std::string& text() noexcept { return text_; }
    /// Writes the text, if there is much of it.
    void advance() {
        if (text_.size() >= enough)
            write();
    }
    /// Writes the rest.
    void finish();

private:
    static constexpr std::size_t enough = 1 << 16;
    void write();

    text::new_file* file_;
    std::string text_;
};

} // namespace tool::exporting
