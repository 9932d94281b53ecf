// SPDX-License-Identifier: GPL-2.0-or-later
#include "program.hpp"

#include "text/errors.hpp"
#include "text/output.hpp"
#include "tracing/signals.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <new>
#include <string_view>
#include <unistd.h>

namespace tool {

namespace {

int complain(int result, std::string_view message, std::string_view remedy = {}) {
    text::warn(message, remedy);
    return result;
}

/// Has those of the standard files that are closed refer to /dev/null, so that no other file gets
/// the number. Reading and writing fail as before.
void hold_standard_files() {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
        if (fcntl(file, F_GETFD) < 0)
            (void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

} // namespace

int run_program(std::span<const command> commands, int argc, char** argv) {
    hold_standard_files();
    // Writing to a pipe without a reader fails instead.
    std::signal(SIGPIPE, SIG_IGN);
    // The caller may have ignored it: the kernel would then not tell how a child has ended.
    std::signal(SIGCHLD, SIG_DFL);
    try {
        run_command_line(commands, argc, argv);
        text::flush();
        return exit_status::success;
    } catch (const text::usage_error& error) {
        return complain(exit_status::usage, error.what(), error.remedy());
    } catch (const text::failure& error) {
        return complain(exit_status::failed, error.what(), error.remedy());
    } catch (const text::silent_failure& failure) {
        return failure.status;
    } catch (const text::ended_by_signal& signal) {
        tracing::end_by_signal(signal.number);
    } catch (const restart&) {
        execv("/proc/self/exe", argv);
        return complain(exit_status::failed, "cannot start again");
    } catch (const text::reader_left&) {
        // What is left in the buffer has no reader either.
        std::_Exit(exit_status::success);
    } catch (const std::bad_alloc&) {
        return complain(exit_status::failed, "not enough memory");
    } catch (const std::exception& error) {
        return complain(exit_status::failed, error.what());
    }
}

} // namespace tool
