// SPDX-License-Identifier: GPL-2.0-or-later
#include "service.hpp"

#include "program.hpp"
#include "text/errors.hpp"
#include "text/output.hpp"
#include "tracing/child_process.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <systemd/sd-daemon.h>
#include <vector>

namespace tool {

namespace {

/// The command line of this process.
std::vector<std::string> own_arguments() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> result;
    for (std::string word; std::getline(file, word, '\0');)
        result.push_back(word);
    return result;
}

/// Has another process check what this one would begin with. Throws text::failure if that process
/// cannot say whether it makes sense.
bool makes_sense() {
    auto words = own_arguments();
    // Behind the command's name: at the end it could be one of the patterns.
    words.insert(words.begin() + std::min<std::ptrdiff_t>(2, std::ssize(words)), "--check");
    tracing::child_process check(words, "/proc/self/exe");
    check.wait();
    if (check.status() != exit_status::success && check.status() != exit_status::usage)
        throw text::failure(fmt::format("its check ended with status {}", check.status()));
    return check.status() == exit_status::success;
}

/// Whether this process can begin again. Says why not; no error ends the service here, also if
/// memory is short.
bool can_begin_again() {
    try {
        if (makes_sense())
            return true;
        text::warn("the configuration makes no sense: it stays as it was");
    } catch (const std::bad_alloc&) {
        text::warn("the configuration cannot be checked, and stays as it was: not enough memory");
    } catch (const std::exception& error) {
        text::warn(fmt::format("the configuration cannot be checked, and stays as it was: {}",
                               error.what()));
    }
    return false;
}

[[noreturn]] void throw_no_reader() {
    throw text::failure("standard output has no reader left");
}

} // namespace

void report_ready() {
    sd_notify(0, "READY=1");
}

void report_stop() {
    sd_notify(0, "STOPPING=1");
}

void require_reader(const tracing::stop_signals& signals) {
    if (signals.has_lost_reader())
        throw_no_reader();
}

void print_to_reader(std::string_view text) {
    try {
        text::print(text);
        text::flush();
    } catch (const text::reader_left&) {
        throw_no_reader();
    }
}

void long_work::step() {
    // Reading the clock takes as long as a small record.
    constexpr unsigned steps = 256;
    if (++steps_ % steps)
        return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_)
        return;
    next_ = now + std::chrono::seconds(1);
    sd_notify(0, "EXTEND_TIMEOUT_USEC=30000000");
}

bool has_to_restart(tracing::stop_signals& signals) {
    if (!signals.wants_reload())
        return false;
    sd_notify(0, "RELOADING=1");
    if (can_begin_again()) {
        signals.keep_blocked();
        return true;
    }
    report_ready();
    return false;
}

} // namespace tool
