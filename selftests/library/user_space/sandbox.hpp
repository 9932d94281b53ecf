// SPDX-License-Identifier: GPL-2.0-only
// Events in a process that may make few system calls.
#pragma once

#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/user_events.hpp>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace selftest {

/// From now on, a filter judges the system calls of the process.
inline void install(const std::vector<sock_filter>& code) {
    const sock_fprog program = {static_cast<unsigned short>(code.size()),
                                const_cast<sock_filter*>(code.data())};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(100);
}

/// From now on, other system calls than these get this answer: SECCOMP_RET_...
inline void allow_only(const std::vector<long>& calls, std::uint32_t otherwise) {
    std::vector<sock_filter> code = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
    for (const long call : calls) {
        code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
        code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    code.push_back(BPF_STMT(BPF_RET | BPF_K, otherwise));
    install(code);
}

/// Waits longer than the library trusts its last check, without a system call.
inline void wait_for_next_check() {
#ifndef USER_EVENTS_NO_CHECKS
    timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 200);
#endif
}

/// Records numbers and a long text in a child process after `enter`, and returns its state in
/// wait(): 0 if no record was lost.
inline int record_in_sandbox(FakeFile& file, const std::function<void()>& enter) {
    const user_events::event<"number", user_events::field<"value", std::uint64_t>> number;
    const user_events::event<"text", user_events::field<"value", std::string_view>> text;
    file.enable("number u64 value");
    file.enable("text __rel_loc char[] value");
    const pid_t child = fork();
    if (child == 0) {
        static const std::string long_text(2000, 'x');
        enter();
        for (int i = 0; i < 3; i++) {
            wait_for_next_check();
            number(1);
            text(long_text);
        }
        syscall(SYS_exit_group, number.lost() + text.lost());
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/// The size of what record_in_sandbox() writes.
inline constexpr std::size_t size_in_sandbox = 3 * (4 + 8 + 4 + 4 + 2001);

} // namespace selftest
