// SPDX-License-Identifier: GPL-2.0-or-later
// Takes from a process what it does not need to parse a file that an attacker may have made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tool::recording {

/// What a process may still do in the sandbox, besides computing, and reading and writing the files
/// that it has open.
struct allowances {
    /// Bytes of address space.
    std::uint64_t memory = std::uint64_t{4} << 30;
    /// Make files in these directories, and append to files there.
    std::vector<std::string> directories = {};
    /// Connect to other machines over IP, and read the files that this takes, such as those of the
    /// resolver and certificates.
    bool network = false;
};

/// Gives up privileges for good: what the allowances lack fails with EPERM, EACCES or ENOSYS from
/// now on. If the process is root's, it becomes that of the user and group 65534 ("nobody"). Must
/// be called while the process has one thread; the threads that it starts later are also confined.
///
/// Goes on without the pieces that the kernel lacks or that a sandbox around this process refuses.
/// Only if root cannot become another user does the function say so, on standard error.
void enter_sandbox(const allowances& allowed);

/// The parts of enter_sandbox() that are in other files. Each returns false, with errno, if it is
/// not possible here. Both need PR_SET_NO_NEW_PRIVS.

/// Has the kernel refuse system calls by their number and arguments (seccomp).
bool filter_system_calls(const allowances& allowed);
/// Has the kernel refuse to open, create and remove files (Landlock, since Linux 5.13). Of the
/// directories, those that do not exist are skipped.
bool confine_files(const allowances& allowed);

} // namespace tool::recording
