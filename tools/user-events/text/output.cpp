// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/output.hpp"

#include "text/errors.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::text {

namespace {

std::optional<bool> wanted_colours;

/// Readable once the command has to end; -1 if a signal ends it anyway.
int stop_file = -1;
/// What print() keeps while there is a stop_file.
std::string waiting;
/// Whether a reader has taken nothing for too long after the command had to end.
bool is_given_up = false;

/// As much is written at a time, as print() is called.
constexpr std::size_t enough = 1 << 16;
/// How long a reader may take nothing after the command had to end.
constexpr int patience_ms = 1000;

[[noreturn]] void write_failed() {
    if (errno == EPIPE)
        throw reader_left();
    throw failure(std::string("cannot write to standard output: ") + std::strerror(errno));
}

/// Waits until standard output takes something, or fails. Returns false if it takes nothing and the
/// command has to end.
bool wait_for_room() {
    pollfd files[] = {{STDOUT_FILENO, POLLOUT, 0}, {stop_file, POLLIN, 0}};
    bool has_to_end = false;
    while (true) {
        const int count = poll(files, has_to_end ? 1 : 2, has_to_end ? patience_ms : -1);
        if (count < 0 && errno != EINTR)
            write_failed();
        if (count > 0 && files[0].revents)
            return true;
        if (count == 0)
            return false;
        has_to_end = has_to_end || (count > 0 && files[1].revents);
    }
}

/// How much can be written without waiting once there is room: all to a file, which does not wait
/// for a reader.
std::size_t part_size() {
    struct stat found {};
    return fstat(STDOUT_FILENO, &found) == 0 && S_ISREG(found.st_mode) ? waiting.max_size()
                                                                       : PIPE_BUF;
}

void write_waiting() {
    const std::size_t most = part_size();
    for (std::string_view rest = waiting; !rest.empty();) {
        if (!wait_for_room()) {
            is_given_up = true;
            break;
        }
        const ssize_t size = write(STDOUT_FILENO, rest.data(), std::min(rest.size(), most));
        if (size < 0 && errno != EINTR && errno != EAGAIN) {
            waiting.clear();
            write_failed();
        }
        rest.remove_prefix(size > 0 ? static_cast<std::size_t>(size) : 0);
    }
    waiting.clear();
}

} // namespace

bool is_terminal() {
    static const bool result = isatty(STDOUT_FILENO);
    return result;
}

bool is_capable_terminal() {
    static const bool result = [] {
        const char* const term = std::getenv("TERM");
        return is_terminal() && term && std::strcmp(term, "dumb") != 0;
    }();
    return result;
}

bool has_colours() {
    static const bool by_default = [] {
        const char* const no_color = std::getenv("NO_COLOR");
        return is_capable_terminal() && !(no_color && *no_color);
    }();
    return wanted_colours.value_or(by_default);
}

void set_colours(bool wanted) {
    wanted_colours = wanted;
}

int columns() {
    winsize size{};
    if (!is_terminal() || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

std::string_view code(style style) {
    static constexpr const char* codes[] = {"\x1b[0m",  "\x1b[1m",  "\x1b[2m",  "\x1b[31m",
                                            "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[1;31m"};
    return has_colours() ? codes[static_cast<int>(style)] : "";
}

std::string styled(std::string_view text, style style) {
    const std::string_view end = style == style::plain ? "" : code(style::plain);
    return std::string(end.empty() ? "" : code(style)).append(text).append(end);
}

void give_up_when_readable(int file) {
    // What print() has kept comes first.
    std::fflush(stdout);
    if (file < 0)
        std::fwrite(waiting.data(), 1, waiting.size(), stdout);
    waiting.clear();
    stop_file = file;
}

void print(std::string_view text) {
    if (is_given_up)
        return;
    if (stop_file >= 0) {
        waiting += text;
        if (waiting.size() >= enough)
            write_waiting();
        return;
    }
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        write_failed();
}

void flush() {
    write_waiting();
    if (std::fflush(stdout) != 0)
        write_failed();
}

} // namespace tool::text
