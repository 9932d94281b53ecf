// SPDX-License-Identifier: GPL-2.0-only
#include "outcome_counts.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <iostream>

namespace stress {

namespace {

/// Returns whether an operation may fail so: as the user guide says, or as tracing fails if another
/// process removes the event at the same time. Also in the fuzzer's program.cpp.
bool is_permitted(Operation operation, int error) {
    const auto is_one_of = [error](std::initializer_list<int> errors) {
        return std::ranges::find(errors, error) != errors.end();
    };
    switch (operation) {
    // The slot has no file, or another thread has closed the file. A fork copies the table of files
    // before the memory, so a child may have a slot without the file.
    case Operation::close:
        return is_one_of({EBADF});
    // Another thread has closed the file, whose number is that of another one by now.
    case Operation::register_event:
        return is_one_of({EBADF, ENOTTY, EADDRINUSE, EMFILE, EFAULT});
    case Operation::unregister:
        return is_one_of({EBADF, ENOTTY, ENOENT, EFAULT});
    case Operation::remove:
        return is_one_of({EBADF, ENOTTY, ENOENT, EBUSY});
    case Operation::share:
        return is_one_of({EBADF, ENOTTY, EINVAL, EXDEV, EBUSY});
    case Operation::write:
        return is_one_of({EBADF, EINVAL, ENOENT, EFAULT, E2BIG});
    case Operation::pass_file:
        return is_one_of({EBADF, EAGAIN});
    case Operation::take_file:
        return is_one_of({EAGAIN});
    case Operation::mark:
        return is_one_of({E2BIG});
    case Operation::enable:
    case Operation::filter:
    case Operation::trigger:
        return is_one_of({EINVAL, ENOENT, EEXIST, EBUSY, ENODEV});
    case Operation::rule:
        return is_one_of({EINVAL, ENOENT, EBUSY});
    case Operation::read_files:
        return is_one_of({ENOENT, ENODEV});
    case Operation::dynamic_events:
        return is_one_of({EINVAL, EADDRINUSE, ENOENT, EBUSY, EMFILE});
    case Operation::perf:
        return is_one_of({EINVAL, ENOENT});
    // The program reads more than a record of the event has, or is attached already.
    case Operation::bpf:
        return is_one_of({EACCES, EEXIST, EINVAL});
    // See unload() for a success.
    case Operation::unload:
        return is_one_of({EWOULDBLOCK, EBUSY});
    default:
        return false;
    }
}

} // namespace

const char* name_of(Operation operation) {
    static constexpr auto names = std::to_array<const char*>(
        {"open",          "close",         "register",       "unregister",    "delete",
         "write",         "counted write", "move",           "fork",          "exec",
         "kill",          "pass a file",   "take a file",    "change memory", "mark",
         "share indexes", "enable",        "filter",         "trigger",       "rule",
         "remove rules",  "read files",    "dynamic_events", "make instance", "remove instance",
         "perf",          "BPF",           "limit",          "unload"});
    static_assert(names.size() == static_cast<std::size_t>(Operation::count));
    return names.at(static_cast<std::size_t>(operation));
}

const selftest::Outcome& OutcomeCounts::operator()(Operation operation,
                                                   const selftest::Outcome& outcome) {
    const auto error = std::min(static_cast<std::size_t>(outcome.error()), errors - 1);
    counts_.at(static_cast<std::size_t>(operation)).at(error)++;
    return outcome;
}

void OutcomeCounts::print_and_clear() {
    for (std::size_t operation = 0; operation < counts_.size(); operation++) {
        std::cout << "#   " << name_of(static_cast<Operation>(operation)) << ":";
        for (std::size_t error = 0; error < errors; error++)
            if (const unsigned long count = counts_.at(operation).at(error).exchange(0)) {
                const char* name = error ? strerrorname_np(static_cast<int>(error)) : "success";
                std::cout << " " << (name ? name : "other") << " " << count;
                succeeded_.at(operation) |= error == 0;
            }
        std::cout << "\n";
    }
    std::cout << std::flush;
}

std::string OutcomeCounts::forbidden() const {
    std::string found;
    for (std::size_t operation = 0; operation < counts_.size(); operation++)
        for (std::size_t error = 1; error < errors; error++) {
            const auto which = static_cast<Operation>(operation);
            if (counts_.at(operation).at(error) == 0 ||
                is_permitted(which, static_cast<int>(error)))
                continue;
            const char* name = strerrorname_np(static_cast<int>(error));
            found += std::string(found.empty() ? "" : ", ") + name_of(which) + " " +
                     (name ? name : "other");
        }
    return found;
}

std::string OutcomeCounts::never_succeeded() const {
    std::string names;
    for (std::size_t operation = 0; operation < succeeded_.size(); operation++)
        if (!succeeded_.at(operation) && static_cast<Operation>(operation) != Operation::unload)
            names +=
                std::string(names.empty() ? "" : ", ") + name_of(static_cast<Operation>(operation));
    return names;
}

} // namespace stress
