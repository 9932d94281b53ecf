// SPDX-License-Identifier: GPL-2.0-only
// user-events: sees, records, keeps and looks at the events of user programs.
#include "cli.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/output.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fmt/format.h>
#include <new>
#include <unistd.h>

namespace {

enum status { success = 0, failed = 1, usage = 2 };

int complain(status result, const std::string& message, const std::string& remedy = {}) {
    fmt::print(stderr, "user-events: {}\n", tool::text::escaped(message));
    if (!remedy.empty())
        fmt::print(stderr, "  {}\n", tool::text::escaped(remedy));
    return result;
}

} // namespace

/// The one place where errors become messages and a status.
int main(int argc, char** argv) {
    // Writing to a pipe without a reader fails instead.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        const int result = tool::run_command_line(argc, argv);
        tool::text::flush();
        return result;
    } catch (const tool::text::usage_error& error) {
        return complain(usage, error.what(), error.remedy());
    } catch (const tool::text::failure& error) {
        return complain(failed, error.what(), error.remedy());
    } catch (const tool::text::silent_failure&) {
        return failed;
    } catch (const tool::restart&) {
        execv("/proc/self/exe", argv);
        return complain(failed, "cannot start again");
    } catch (const tool::text::reader_left&) {
        // What is left in the buffer has no reader either.
        std::_Exit(success);
    } catch (const std::bad_alloc&) {
        return complain(failed, "not enough memory");
    } catch (const std::exception& error) {
        return complain(failed, error.what());
    }
}
