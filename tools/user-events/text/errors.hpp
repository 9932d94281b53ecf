// SPDX-License-Identifier: GPL-2.0-or-later
// Errors that end the program. run_program() prints them.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tool::text {

/// A command failed: exit status 1. The message says what is wrong, with which object; the remedy
/// what to do. Both may have unescaped names in them.
class failure : public std::runtime_error {
public:
    explicit failure(const std::string& message, std::string remedy = {})
        : std::runtime_error(message), remedy_(std::move(remedy)) {}

    const std::string& remedy() const noexcept { return remedy_; }

private:
    std::string remedy_;
};

/// The arguments make no sense: exit status 2.
class usage_error : public failure {
public:
    using failure::failure;
};

/// A command failed and has said so itself, as `doctor` does.
struct silent_failure {
    int status = 1;
};

/// A signal has ended the command, which has put everything back. The process ends by it.
struct ended_by_signal {
    int number;
};

/// What to do about an errno of a file; empty if there is no advice.
std::string remedy_for(int error, std::string_view path);

/// A system call failed.
class system_failure : public failure {
public:
    system_failure(int error, const std::string& message, std::string remedy)
        : failure(message, std::move(remedy)), error_(error) {}

    int error() const noexcept { return error_; }

private:
    int error_;
};

/// A system call failed for this file. The remedy fits the file and the error.
system_failure file_failure(int error, std::string_view doing, std::string_view path);

/// Writes text to standard error as it is. Nothing happens if that fails: standard error may be
/// closed, or its disk may be full, and what the process does is more important than what it says.
void say(std::string_view text) noexcept;

/// A message with the program's name, and what to do in a second line, escaped.
void warn(std::string_view message, std::string_view remedy = {}) noexcept;

} // namespace tool::text
