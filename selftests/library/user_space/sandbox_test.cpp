// SPDX-License-Identifier: GPL-2.0-only
// Events in sandboxes that refuse system calls, or kill.
#include "sandbox.hpp"

#include <user_events/eventheader.hpp>

#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <sys/random.h>
#include <sys/resource.h>

using namespace selftest;

namespace {

/// From now on, a system call with this second argument fails with ENOMEM.
void refuse(long call, std::uint32_t argument) {
    install({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 3),
             // Little-endian: its lower half.
             BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, argument, 0, 1),
             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)});
}

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

} // namespace

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
              allow_only(
                  {SYS_write, SYS_writev, SYS_fcntl, SYS_newfstatat, SYS_fstat, SYS_exit_group},
                  SECCOMP_RET_KILL_PROCESS);
          }) == 0);
    CHECK(file.take().size() == size_in_sandbox);
}

TEST_CASE("A sandbox that refuses to mark the file lets no descriptor leak") {
    FakeFile file;
    const user_events::event<"number", user_events::field<"value", std::uint64_t>> number;
    file.enable("number u64 value");
    const int lost = last_descriptor();
    const pid_t child = fork();
    if (child == 0) {
        refuse(SYS_fcntl, F_SETSIG);
        close(lost);
        number(1);
        const auto before = open_files();
        for (int i = 0; i < 3; i++) {
            wait_for_next_check();
            number(1);
        }
        _exit(number.lost() == 0 && open_files() == before ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(file.take().size() == std::size_t{4} * (4 + 8));
}

TEST_CASE("A sandbox that kills ends a program that checks its file") {
    FakeFile file;
    const int status = record_in_sandbox(file, [] {
        allow_only({SYS_write, SYS_writev, SYS_exit_group}, SECCOMP_RET_KILL_PROCESS);
    });
    CHECK(WTERMSIG(status) == SIGSYS);
}

TEST_CASE("The number of an activity is a random one that the kernel gives without waiting") {
    const pid_t child = fork();
    if (child == 0) {
        sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 2),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, GRND_NONBLOCK, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        const sock_fprog program = {std::size(code), code};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
            _exit(100);
        // Without a random number, the last bytes are 0.
        const auto made = user_events::eventheader::activity_id::create();
        _exit(std::any_of(made.bytes + 8, made.bytes + 16, [](auto byte) { return byte != 0; })
                  ? 0
                  : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
}
