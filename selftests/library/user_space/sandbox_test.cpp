// SPDX-License-Identifier: GPL-2.0-only
// Events in sandboxes that refuse system calls, or kill.
#include "sandbox.hpp"

using namespace selftest;

TEST_CASE("A sandbox that refuses all but write() and writev() loses no record") {
    FakeFile file;
    CHECK(record_in_sandbox(file, [] {
              allow_only({SYS_write, SYS_writev, SYS_exit_group},
                         SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA));
          }) == 0);
    CHECK(file.take().size() == size_in_sandbox);
}

TEST_CASE("Recording makes only the system calls that the documentation lists") {
    FakeFile file;
    CHECK(record_in_sandbox(file, [] {
              allow_only({SYS_write, SYS_writev, SYS_fcntl, SYS_newfstatat, SYS_fstat,
                          SYS_prlimit64, SYS_exit_group},
                         SECCOMP_RET_KILL_PROCESS);
          }) == 0);
    CHECK(file.take().size() == size_in_sandbox);
}

TEST_CASE("A sandbox that kills ends a program that checks its file") {
    FakeFile file;
    const int status = record_in_sandbox(file, [] {
        allow_only({SYS_write, SYS_writev, SYS_exit_group}, SECCOMP_RET_KILL_PROCESS);
    });
    CHECK(WTERMSIG(status) == SIGSYS);
}
