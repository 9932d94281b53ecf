// SPDX-License-Identifier: GPL-2.0-only
// What a collector may ask of `ship`. The numbers are those of the documentation.
#include "catch.hpp"
#include "otlp/collector.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>

using tool::otlp::collector;
using tool::otlp::request;

namespace {

/// A collector that answers one request.
class server {
public:
    server(const std::string& answer, const std::string& body)
        : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        socklen_t size = sizeof(address);
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        if (bind(socket_, any, size) != 0 || listen(socket_, 1) != 0 ||
            getsockname(socket_, any, &size) != 0)
            throw std::system_error(errno, std::generic_category(), "listen");
        url = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        thread_ = std::thread([this, answer, end = "\r\n\r\n" + body] {
            const int client = accept(socket_, nullptr, nullptr);
            std::string request;
            for (char byte; !request.ends_with(end) && recv(client, &byte, 1, 0) == 1;)
                request += byte;
            send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
            close(client);
        });
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() {
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

request logs() {
    return {.records = 10, .body = "x"};
}

/// What becomes of the request if the collector answers this.
collector::answer sent(const std::string& answer, const request& what) {
    const server server(answer, what.body);
    tool::otlp::delivery how;
    how.url = server.url;
    how.compress = false;
    how.encoding = tool::otlp::encoding::json;
    return collector(how).send(what);
}

/// The seconds that are waited for if it has no time now; 0 if the collector does not ask for any.
double asked_to_wait(const std::string& later) {
    const auto answer = sent("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n" +
                                 (later.empty() ? "" : "Retry-After: " + later + "\r\n") + "\r\n",
                             logs());
    CHECK(answer.result == collector::answer::outcome::retry);
    CHECK(answer.message == "does not take records now: it answers 503");
    return answer.wait;
}

/// How many of ten records are dropped if it says that it has rejected so many.
std::uint64_t rejected(const std::string& number, const request& what = logs()) {
    const std::string text = "{\"partialSuccess\":{\"rejectedLogRecords\":" + number + "}}";
    const auto answer = sent("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(text.size()) +
                                 "\r\n\r\n" + text,
                             what);
    CHECK(answer.result == collector::answer::outcome::taken);
    return answer.rejected;
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

TEST_CASE("a collector cannot reject more records than it got, whatever number it says") {
    for (const char* const all : {"10", "11", "1e300", "9223372036854775807",
                                  "18446744073709551615", "\"99999999999999999999\""})
        CHECK(rejected(all) == 10);
    for (const char* const some : {"3", "3.0", "\"3\""})
        CHECK(rejected(some) == 3);
    for (const char* const none : {"0", "-1", "-1e300", "null", "\"x\"", "[7]"})
        CHECK(rejected(none) == 0);
}

TEST_CASE("rejected spans of a request that cannot be read count as a record each") {
    for (const char* const body : {"x", "{", "{}", "{\"resourceSpans\":7}"}) {
        CAPTURE(body);
        CHECK(rejected("3", {tool::otlp::signal::traces, 10, body}) == 3);
    }
}
