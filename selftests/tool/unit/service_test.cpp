// SPDX-License-Identifier: GPL-2.0-only
// What a service tells systemd, of which the test has the socket.
#include "catch.hpp"
#include "service.hpp"
#include "text/errors.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <stdio_ext.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace {

class notify_socket {
public:
    notify_socket() : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        const std::string name = "@user_events_test_" + std::to_string(getpid());
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        // A name that begins with NUL is no file.
        name.copy(address.sun_path + 1, name.size() - 1, 1);
        if (bind(socket_, reinterpret_cast<const sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size())) != 0)
            throw std::system_error(errno, std::generic_category(), "bind");
        setenv("NOTIFY_SOCKET", name.c_str(), 1);
    }
    ~notify_socket() {
        unsetenv("NOTIFY_SOCKET");
        close(socket_);
    }

    /// The next message; empty if there is none.
    std::string message() {
        std::array<char, 100> text;
        const auto size = recv(socket_, text.data(), text.size(), 0);
        return size < 0 ? "" : std::string(text.data(), static_cast<std::size_t>(size));
    }

private:
    int socket_;
};

/// While the object exists, standard output is a pipe without a reader.
class output_without_reader {
public:
    output_without_reader() : handler_(std::signal(SIGPIPE, SIG_IGN)) {
        std::fflush(stdout);
        before_ = dup(STDOUT_FILENO);
        int ends[2];
        if (before_ < 0 || pipe(ends) != 0)
            throw std::system_error(errno, std::generic_category(), "pipe");
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
    }
    output_without_reader(const output_without_reader&) = delete;
    output_without_reader& operator=(const output_without_reader&) = delete;
    ~output_without_reader() {
        __fpurge(stdout);
        dup2(before_, STDOUT_FILENO);
        close(before_);
        std::signal(SIGPIPE, handler_);
    }

private:
    void (*handler_)(int);
    int before_;
};

/// What is wrong if the service prints a line at its start; empty if nothing is.
std::string failure_of_first_line() {
    const output_without_reader output;
    try {
        tool::print_to_reader("line\n");
    } catch (const tool::text::failure& error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("a service fails if its standard output has no reader when it prints") {
    CHECK(failure_of_first_line() == "standard output has no reader left");
}

TEST_CASE("long work has systemd wait for its end, and tells it once a second") {
    notify_socket systemd;
    tool::long_work work;
    const auto begin = std::chrono::steady_clock::now();
    const auto next_message = [&] {
        std::string message;
        while (message.empty() &&
               std::chrono::steady_clock::now() - begin < std::chrono::minutes(1)) {
            work.step();
            message = systemd.message();
        }
        return message;
    };
    CHECK(next_message() == "EXTEND_TIMEOUT_USEC=30000000");
    CHECK(next_message() == "EXTEND_TIMEOUT_USEC=30000000");
    CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::seconds(1));
}
