// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/isolate.hpp"

#include "text/errors.hpp"
#include "text/output.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <new>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool::recording {

namespace {

/// The most memory that the tables made of a recording take, for each of its bytes: a record of
/// twelve bytes can be the only one of its thread.
constexpr std::uint64_t memory_for_byte = 16;

/// The status of a child process whose output has lost its reader.
constexpr int without_reader = 4;

/// In the child process.
[[noreturn]] void read_in_sandbox(const std::string& name, std::uint64_t size,
                                  isolated_work& work) {
    work.needs.memory += memory_for_byte * size;
    // These open files.
    if (work.prepare)
        work.prepare();
    tzset();
    // What the user types is not for it.
    if (const int null = open("/dev/null", O_RDONLY | O_CLOEXEC); null >= 0)
        dup2(null, STDIN_FILENO);
    enter_sandbox(work.needs);
    try {
        work.read();
        text::flush();
    } catch (const std::bad_alloc&) {
        rlimit most{};
        getrlimit(RLIMIT_AS, &most);
        throw text::failure(fmt::format("cannot read {}: it needs more than {} MiB of memory", name,
                                        most.rlim_cur >> 20),
                            "the file is damaged, or made to exhaust memory");
    } catch (const text::reader_left&) {
        std::_Exit(without_reader);
    }
    // The objects of the caller are for the other process.
    std::_Exit(0);
}

} // namespace

void isolate(tracing::held_signals& held, const std::string& name, std::uint64_t size,
             isolated_work work) {
    const auto status = tracing::continue_in_child(held);
    if (!status)
        read_in_sandbox(name, size, work);
    if (WIFEXITED(*status)) {
        const int number = WEXITSTATUS(*status);
        if (number == without_reader)
            throw text::reader_left();
        if ((number == 0 || number == complete_but_failed) && work.finish)
            work.finish();
        if (number != 0)
            throw text::silent_failure{number == complete_but_failed ? 1 : number};
        return;
    }
    const int signal = WTERMSIG(*status);
    if (tracing::is_stop_signal(signal))
        throw text::ended_by_signal{signal};
    throw text::failure(
        fmt::format("cannot read {}: its reader ended with \"{}\"", name, strsignal(signal)),
        "the file is damaged or cut off");
}

} // namespace tool::recording
