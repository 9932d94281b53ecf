// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/output.hpp"

#include "text/errors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tool::text {

namespace {

std::optional<bool> wanted_colours;

[[noreturn]] void write_failed() {
    if (errno == EPIPE)
        throw reader_left();
    throw failure(std::string("cannot write to standard output: ") + std::strerror(errno));
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

void print(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        write_failed();
}

void flush() {
    if (std::fflush(stdout) != 0)
        write_failed();
}

} // namespace tool::text
