// SPDX-License-Identifier: GPL-2.0-only
// A program that is compiled without checks of the file.
#define USER_EVENTS_NO_CHECKS
#include "sandbox.hpp"

#include <string_view>

using namespace selftest;

namespace {

/// From now on, reading the processor's clock is fatal.
void forbid_clock() {
#if defined(__x86_64__)
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0)
        _exit(101);
#endif
}

} // namespace

TEST_CASE("Without checks, recording needs write() and writev(), and no clock") {
    FakeFile file;
    const auto enter = [] {
        forbid_clock();
        allow_only({SYS_write, SYS_writev, SYS_exit_group}, SECCOMP_RET_KILL_PROCESS);
    };
    CHECK(record_in_sandbox(file, enter) == 0);
    CHECK(file.take().size() == size_in_sandbox);
}

TEST_CASE("Code without checks has a layout of its own") {
    CHECK(std::string_view(USER_EVENTS_TAG(USER_EVENTS_LAYOUT)).ends_with("_unchecked"));
}
