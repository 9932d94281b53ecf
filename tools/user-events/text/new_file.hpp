// SPDX-License-Identifier: GPL-2.0-or-later
// Whole files. A new one appears under its name when it is complete.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace tool::text {

/// What a file has. Throws system_failure.
std::string contents_of(const std::string& path);

/// No output replaces the file of this descriptor: the process reads it.
void protect_input(int descriptor);

/// Creates a file, or appends to one that this process has created. Returns 0 or the errno.
int append_to_file(const std::string& path, std::string_view text, bool exists);

/// Whether the output is a device or a pipe, which is written in place, not a file that is made.
/// Throws usage_error for the name of an input, a directory, a block device or a symbolic link.
/// Links in /dev to other devices and pipes are followed.
bool is_output_as_it_is(const std::string& path);

/// A new file. The data is first written to a file with another name in the same directory. Only
/// the owner may read this file, and it replaces no other file. At the end, it is renamed to the
/// path. Until then, a file that has the name stays as it was. The functions throw system_failure;
/// the constructor also for what is_output_as_it_is() refuses.
///
/// A child process may write the file. Only the process that made the object renames or removes the
/// file.
class new_file {
public:
    explicit new_file(std::string path);
    new_file(const new_file&) = delete;
    new_file& operator=(const new_file&) = delete;
    /// Removes the file if finish() was not called.
    ~new_file();

    void write(std::string_view text);
    /// Keeps a file that has the name as PATH.old.
    void keep_old();
    /// Has the file on the disk before it takes its name, if `sync` says so. In a child process,
    /// only finds out whether all was written.
    void finish(bool sync = false);

    const std::string& path() const noexcept { return path_; }

private:
    [[noreturn]] void fail() const;

    std::string path_;
    std::string temporary_;
    int descriptor_;
    pid_t maker_;
};

} // namespace tool::text
