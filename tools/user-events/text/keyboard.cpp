// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/keyboard.hpp"

#include "text/output.hpp"

#include <poll.h>
#include <unistd.h>

namespace tool::text {

namespace {

/// In the background, reading and changing the terminal would stop the process.
bool is_foreground() {
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

} // namespace

keyboard::keyboard()
    : is_possible_(is_capable_terminal() && isatty(STDIN_FILENO) &&
                   tcgetattr(STDIN_FILENO, &before_) == 0) {
    prepare();
}

keyboard::~keyboard() {
    if (is_possible_ && is_foreground())
        tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

bool keyboard::prepare() {
    if (!is_possible_ || !is_foreground())
        return false;
    // A shell may have put its own back, after Ctrl-Z and `fg`.
    termios now{};
    if (tcgetattr(STDIN_FILENO, &now) != 0)
        return false;
    constexpr tcflag_t unwanted = ICANON | ECHO;
    if (now.c_lflag & unwanted) {
        now.c_lflag &= ~unwanted;
        now.c_cc[VMIN] = 1;
        now.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
    return true;
}

std::string keyboard::read() {
    std::string keys;
    if (!prepare())
        return keys;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char bytes[256];
    if (poll(&input, 1, 0) <= 0 || !(input.revents & POLLIN))
        return keys;
    const ssize_t size = ::read(STDIN_FILENO, bytes, sizeof(bytes));
    // Escape alone is a key.
    if (size > 0 && (size == 1 || bytes[0] != '\x1b'))
        keys.assign(bytes, static_cast<std::size_t>(size));
    return keys;
}

} // namespace tool::text
