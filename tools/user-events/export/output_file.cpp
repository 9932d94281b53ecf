// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/output_file.hpp"

#include "text/escape.hpp"
#include "text/output.hpp"

#include <algorithm>

namespace tool::exporting {

void output_file::write() {
    if (file_)
        file_->write(text_);
    else
        text::print(text_);
    text_.clear();
}

void output_file::finish() {
    write();
    if (file_)
        file_->finish();
    else
        text::flush();
}

void append_utf8(std::string& to, std::string_view text) {
    while (!text.empty()) {
        const auto* const plain =
            std::find_if(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
        to.append(text.begin(), plain);
        text.remove_prefix(static_cast<std::size_t>(plain - text.begin()));
        if (text.empty())
            return;
        const text::character next = text::first_character(text);
        to += next.valid ? text.substr(0, next.size) : "\xef\xbf\xbd";
        text.remove_prefix(next.size);
    }
}

} // namespace tool::exporting
