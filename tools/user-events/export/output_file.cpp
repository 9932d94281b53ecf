// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/output_file.hpp"

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

} // namespace tool::exporting
