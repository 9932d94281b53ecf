// SPDX-License-Identifier: GPL-2.0-only
// What a collector may ask of `ship`. The numbers are those of the documentation.
#include "catch.hpp"
#include "otlp/collector.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using tool::otlp::collector;

namespace {

/// A collector that has no time now, and asks to be asked again later. Answers one request.
class busy {
public:
    explicit busy(const std::string& later) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        socklen_t size = sizeof(address);
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (bind(socket_, any, size) != 0 || listen(socket_, 1) != 0 ||
            getsockname(socket_, any, &size) != 0)
            throw std::system_error(errno, std::generic_category(), "listen");
        url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        thread_ = std::thread([this, later] {
            const int client = accept(socket_, nullptr, nullptr);
            std::string request;
            // Its body is one byte.
            for (char byte; !request.ends_with("\r\n\r\nx") && recv(client, &byte, 1, 0) == 1;)
                request += byte;
            const std::string answer = "HTTP/1.1 503 Later\r\nContent-Length: 0\r\n" +
                                       (later.empty() ? "" : "Retry-After: " + later + "\r\n") +
                                       "\r\n";
            send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
            close(client);
        });
    }
    busy(const busy&) = delete;
    busy& operator=(const busy&) = delete;
    ~busy() {
        // The client may never have come.
        shutdown(socket_, SHUT_RDWR);
        thread_.join();
        close(socket_);
    }

    std::string url;

private:
    int socket_;
    std::thread thread_;
};

/// The seconds that are waited for; 0 if the collector does not ask for any.
double asked_to_wait(const std::string& later) {
    const busy server(later);
    tool::otlp::delivery how;
    how.url = server.url;
    how.compress = false;
    collector to(how);
    const auto answer = to.send({.records = 1, .body = "x"});
    CHECK(answer.result == collector::answer::outcome::retry);
    CHECK(answer.message == "does not take records now: it answers 503");
    return answer.wait;
}

} // namespace

TEST_CASE("a collector is asked again after the time that it asks for, but at most 300 s") {
    CHECK(asked_to_wait("1") == 1);
    CHECK(asked_to_wait("7") == 7);
    CHECK(asked_to_wait("300") == 300);
    CHECK(asked_to_wait("301") == 300);
    CHECK(asked_to_wait("9223372036854775807") == 300);
}

TEST_CASE("a collector that asks for no time, or for what is none, is asked again after a pause") {
    for (const char* const later : {"", "0", "-5", "soon", "Thu, 01 Jan 1970 00:00:00 GMT"})
        CHECK(asked_to_wait(later) == 0);
}

TEST_CASE("pauses grow from half a second to 30 s, and are shorter by up to a half at random") {
    tool::otlp::pauses pauses;
    for (double longest : {0.5, 1., 2., 4., 8., 16., 30., 30.})
        CHECK(pauses.next(1) == longest);
    CHECK(pauses.next(0) == 15);
    pauses.begin_again();
    CHECK(pauses.next(0) == 0.25);
}
