// SPDX-License-Identifier: GPL-2.0-or-later
// Other programs that a command runs.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace tool::tracing {

/// A program. If the object is destroyed while the program runs, the program gets SIGTERM. Signals
/// are as they are for a program that a shell starts, also while this process holds them back; so
/// is the limit of open files, also if this process has raised that.
class child_process {
public:
    struct standard_files {
        // Descriptors; -1 means those of this process.
        int input = -1;
        int output = -1;
    };
    /// `words` are the program, found in PATH, and its arguments. If `file` is given, that is run
    /// instead. Throws text::system_failure if the program cannot be run.
    explicit child_process(const std::vector<std::string>& words, const char* file = nullptr,
                           standard_files files = {-1, -1});
    child_process(const child_process&) = delete;
    child_process& operator=(const child_process&) = delete;
    ~child_process();

    bool has_ended();
    void wait();

    /// The exit status; 128 plus the number if a signal ended the program; 0 before the end.
    int status() const;

private:
    pid_t id_ = 0; // 0 when it has ended
    int status_ = 0;
};

} // namespace tool::tracing
