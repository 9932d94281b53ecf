// SPDX-License-Identifier: GPL-2.0-only
#include "export/output_file.hpp"

#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/output.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::exporting {

output_file::output_file(const std::string& path) : path_(path) {
    if (path.empty())
        return;
    descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
        throw text::file_failure(errno, "write", path);
}

output_file::~output_file() {
    if (descriptor_ >= 0)
        close(descriptor_);
}

void output_file::write() {
    if (descriptor_ < 0) {
        text::print(text_);
    } else {
        for (std::string_view rest = text_; !rest.empty();) {
            const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
            if (written < 0 && errno != EINTR)
                throw text::file_failure(errno, "write", path_);
            rest.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
        }
    }
    text_.clear();
}

void output_file::finish() {
    write();
    if (descriptor_ < 0) {
        text::flush();
        return;
    }
    // Some file systems report here that the disk is full.
    const int result = close(descriptor_);
    descriptor_ = -1;
    if (result != 0)
        throw text::file_failure(errno, "write", path_);
}

void make_directory(const std::string& path) {
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
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
