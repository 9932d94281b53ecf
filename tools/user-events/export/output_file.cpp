// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/output_file.hpp"

#include "text/escape.hpp"
#include "text/output.hpp"

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
        const text::character next = text::first_character(text);
        to += next.valid ? text.substr(0, next.size) : "\xef\xbf\xbd";
        text.remove_prefix(next.size);
    }
}

} // namespace tool::exporting
