// SPDX-License-Identifier: GPL-2.0-only
#include "export/output_file.hpp"

#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/output.hpp"

#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

namespace tool::exporting {

output_file::output_file(const std::string& path) {
    if (path.empty())
        return;
    // What new_file refuses is a mistake in the arguments here.
    (void)text::is_output_as_it_is(path);
    file_.emplace(path);
}

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

void make_directory(const std::string& path) {
    if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        throw text::file_failure(errno, "make the directory", path);
    std::error_code error;
    if (!std::filesystem::is_empty(path, error) || error)
        throw text::failure(error ? fmt::format("cannot use {}: {}", path, error.message())
                                  : fmt::format("the directory {} is not empty", path),
                            "give a directory of its own with -o");
}

void append_utf8(std::string& to, std::string_view text) {
    while (!text.empty()) {
        const text::character next = text::first_character(text);
        to += next.valid ? text.substr(0, next.size) : "\xef\xbf\xbd";
        text.remove_prefix(next.size);
    }
}

} // namespace tool::exporting
