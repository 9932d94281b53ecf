// SPDX-License-Identifier: GPL-2.0-or-later
// A directory of files that a child process writes, which may have no right to the directory.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace tool::exporting {

/// A new directory, or an empty one; one that is not empty is renamed to PATH.old. The files are
/// made below a directory in it whose name begins with `.part-`, and are moved at the end. Until
/// then, only the owner can reach them.
///
/// The process that makes the object calls finish(), or removes what was written. A child process
/// calls enter() while it can still open the directory, and then add_to_file().
class output_directory {
public:
    /// Throws text::failure.
    explicit output_directory(std::string path);
    output_directory(const output_directory&) = delete;
    output_directory& operator=(const output_directory&) = delete;
    ~output_directory();

    /// Makes the directory for the files the working directory. Any user may write there, but no
    /// other path leads there. Throws text::failure.
    void enter() const;
    /// Moves the files to the directory, and gives them to this process's user. Throws
    /// text::failure, also if there is anything but regular files.
    void finish();

private:
    void remove_parts() noexcept;
    void remove_new() noexcept;

    std::string path_;
    std::string parts_;
    bool is_kept_;
    bool is_new_;
    bool is_complete_ = false;
    pid_t maker_;
};

/// Appends to the file `name` in the working directory that enter() has set; creates the file
/// unless `exists` says that it is there. Throws text::failure, in which the directory is called
/// `directory`.
void add_to_file(const std::string& directory, const std::string& name, std::string_view text,
                 bool exists);

} // namespace tool::exporting
