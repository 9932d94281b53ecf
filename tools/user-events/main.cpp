// SPDX-License-Identifier: GPL-2.0-only
// user-events: sees, records, keeps and looks at the events of user programs.
#include "cli.hpp"
#include "text/errors.hpp"
#include "text/output.hpp"
#include "tracing/signals.hpp"

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <unistd.h>

namespace {

enum status { success = 0, failed = 1, usage = 2 };

int complain(status result, std::string_view message, std::string_view remedy = {}) {
    tool::text::warn(message, remedy);
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
    } catch (const tool::text::silent_failure& failure) {
        return failure.status;
    } catch (const tool::text::ended_by_signal& signal) {
        tool::tracing::end_by_signal(signal.number);
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
