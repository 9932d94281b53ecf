// SPDX-License-Identifier: GPL-2.0-only
// For tests that run perf. To be included first, by one file of a program.
#pragma once

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include "catch.hpp"

#include "outcome.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <fcntl.h>
#include <sched.h>
#include <string>
#include <sys/mount.h>

namespace selftest {

/// perf reads all kernel symbols in each run, which takes most of the time on an emulated machine.
/// Mounts a file with only the symbols that perf needs over /proc/kallsyms.
class FewSymbols : public Catch::TestEventListenerBase {
    using Base = Catch::TestEventListenerBase;

public:
    using Base::Base;

    void testRunStarting(const Catch::TestRunInfo&) override {
        std::string symbols;
        for (const std::string& line : lines_of(read_text("/proc/kallsyms")))
            for (const char* name : {" _text", " _stext", " _etext", " _end", " vfs_write"})
                if (line.ends_with(name))
                    symbols += line + "\n";
        const std::string file = "/tmp/" + unique_name("symbols");
        expect(write_text(file, symbols, O_CREAT), "write " + file);
        if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, "") != 0 ||
            mount(file.c_str(), "/proc/kallsyms", "", MS_BIND, "") != 0)
            throw_errno("shorten /proc/kallsyms");
    }
};

CATCH_REGISTER_LISTENER(FewSymbols)

} // namespace selftest
