// SPDX-License-Identifier: GPL-2.0-only
// What clients can keep of the server of `serve`: connections, and time. The numbers are those of
// the documentation, not the constants of the code.
#include "catch.hpp"
#include "deadline.hpp"
#include "metrics/connections.hpp"
#include "metrics/http_server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <list>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using tool::metrics::connections;
using steady = std::chrono::steady_clock;

namespace {

constexpr std::size_t large = 32 << 20;

void require(bool is_done, const char* what) {
    if (!is_done)
        throw std::system_error(errno, std::generic_category(), what);
}

/// One end of a pair of sockets is given to `connections`, the other end sees that it is shut down.
class pair {
public:
    pair() { require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends_) == 0, "socketpair"); }
    pair(const pair&) = delete;
    pair& operator=(const pair&) = delete;
    ~pair() {
        close(ends_[0]);
        close(ends_[1]);
    }

    int served() const { return ends_[0]; }
    bool is_open() const {
        char byte;
        return recv(ends_[1], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
    }

private:
    int ends_[2];
};

std::string open_ones(const std::list<pair>& all) {
    std::string result;
    for (const auto& each : all)
        result += each.is_open() ? 'o' : '-';
    return result;
}

/// A server in a thread of its own, at a port of 127.0.0.1.
class server {
public:
    server()
        : server_("127.0.0.1:0", "/metrics",
                  [](const std::string& accept) -> tool::metrics::response {
                      return {"text/plain", accept == "large" ? std::string(large, 'x') : "small"};
                  }),
          thread_([this] {
              while (!stopped_) {
                  const int patience = server_.wait_at_most(20);
                  pollfd file{server_.file(), POLLIN, 0};
                  if (poll(&file, 1, patience) == 0 && patience > 0)
                      idle_++;
                  server_.run();
              }
          }) {}
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() {
        stopped_ = true;
        thread_.join();
    }

    /// Waits until it has nothing to do. It has waited in vain twice then, as the first time may
    /// have begun before the call.
    void settle() const {
        const unsigned before = idle_;
        REQUIRE(selftest::eventually([&] { return idle_ >= before + 2; }));
    }

    std::uint16_t port() const {
        return static_cast<std::uint16_t>(
            std::stoi(server_.address().substr(server_.address().rfind(':') + 1)));
    }

private:
    tool::metrics::http_server server_;
    std::atomic<bool> stopped_ = false;
    std::atomic<unsigned> idle_ = 0;
    std::thread thread_;
};

/// A connection from an address 127.0.0.x.
class client {
public:
    client(const server& to, unsigned from) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + from);
        require(bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0, "bind");
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(to.port());
        require(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
                "connect");
    }
    client(const client&) = delete;
    client& operator=(const client&) = delete;
    ~client() { close(socket_); }

    bool send(const std::string& text) const {
        return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(text.size());
    }
    void ask(const std::string& accept = "small") const {
        send("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: " + accept + "\r\n\r\n");
    }

    /// Whether nothing has arrived, also not the end.
    bool is_open() const {
        char byte;
        return recv(socket_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
    }

    /// Waits for an end of this text, for up to a second without data. Returns the number of bytes
    /// before it ends otherwise, or npos if it has ended so.
    static constexpr std::size_t complete = std::string::npos;
    std::size_t receive(std::size_t body) const {
        std::string head;
        std::size_t size = 0;
        std::vector<char> part(1 << 16);
        pollfd file{socket_, POLLIN, 0};
        while (poll(&file, 1, 1000) == 1) {
            const ssize_t got = recv(socket_, part.data(), part.size(), 0);
            if (got <= 0)
                break;
            size += static_cast<std::size_t>(got);
            if (head.size() < 1000)
                head.append(part.data(), static_cast<std::size_t>(got));
            const auto end = head.find("\r\n\r\n");
            if (end != head.npos && size == end + 4 + body)
                return complete;
        }
        return size;
    }
    bool is_answered() const {
        ask();
        return receive(5) == complete;
    }

private:
    int socket_;
};

std::size_t count_open(const std::list<client>& all) {
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [](const auto& each) { return each.is_open(); }));
}

/// Whether so many stay open once the server has done what it has to do.
bool leaves(const server& server, const std::list<client>& all, std::size_t number) {
    server.settle();
    // The kernel may deliver an end a little later.
    return selftest::eventually([&] { return count_open(all) == number; });
}

void connect(std::list<client>& to, const server& server, unsigned from, int count) {
    for (int i = 0; i < count; i++)
        to.emplace_back(server, from);
}

} // namespace

TEST_CASE("a connection is late after 5 seconds, and not before") {
    const pair one;
    connections open;
    const auto before = connections::clock::now();
    open.opened(one.served(), "a");
    const auto after = connections::clock::now();
    REQUIRE(open.deadline());
    CHECK(*open.deadline() >= before + 5s);
    CHECK(*open.deadline() <= after + 5s);
    open.shut_down_excess(before + 4999ms);
    CHECK(one.is_open());
    open.shut_down_excess(after + 5s);
    CHECK(!one.is_open());
    CHECK(!open.deadline());
}

TEST_CASE("a client has the whole time again to read the answer") {
    const pair one, other;
    connections open;
    open.opened(one.served(), "a");
    open.opened(other.served(), "a");
    const auto opened = connections::clock::now();
    while (connections::clock::now() == opened)
        std::this_thread::yield();
    open.restart(one.served());
    open.shut_down_excess(opened + 5s);
    CHECK(one.is_open());
    CHECK(!other.is_open());
    open.shut_down_excess(connections::clock::now() + 5s);
    CHECK(!one.is_open());
}

TEST_CASE("of 17 connections of an address, the oldest is shut down") {
    std::list<pair> all(16);
    const pair other;
    connections open;
    open.opened(other.served(), "other");
    for (const auto& each : all)
        open.opened(each.served(), "a");
    open.shut_down_excess(connections::clock::now());
    CHECK(open_ones(all) == "oooooooooooooooo");
    open.opened(all.emplace_back().served(), "a");
    open.shut_down_excess(connections::clock::now());
    CHECK(open_ones(all) == "-oooooooooooooooo");
    CHECK(other.is_open());
}

TEST_CASE("of 49 connections, the oldest is shut down") {
    std::list<pair> all;
    connections open;
    const auto add = [&] {
        open.opened(all.emplace_back().served(), std::to_string(all.size()));
        open.shut_down_excess(connections::clock::now());
    };
    while (all.size() < 48)
        add();
    CHECK(open_ones(all) == std::string(48, 'o'));
    add();
    CHECK(open_ones(all) == "-" + std::string(48, 'o'));
}

TEST_CASE("the server keeps 16 connections of an address, and serves others") {
    const server server;
    std::list<client> greedy;
    connect(greedy, server, 2, 16);
    CHECK(leaves(server, greedy, 16));
    connect(greedy, server, 2, 1);
    CHECK(leaves(server, greedy, 16));
    CHECK(!greedy.front().is_open());
    connect(greedy, server, 2, 100);
    const client other(server, 3);
    CHECK(other.is_answered());
    CHECK(leaves(server, greedy, 16));
    CHECK(other.is_answered());
    CHECK(greedy.back().is_answered());
}

TEST_CASE("the server keeps 48 connections in all") {
    const server server;
    std::list<client> all;
    for (unsigned from = 2; from < 5; from++)
        connect(all, server, from, 16);
    CHECK(leaves(server, all, 48));
    connect(all, server, 5, 1);
    CHECK(leaves(server, all, 48));
    CHECK(!all.front().is_open());
    for (unsigned from = 6; from < 106; from++)
        connect(all, server, from, 1);
    CHECK(leaves(server, all, 48));
    CHECK(all.back().is_answered());
}

TEST_CASE("slow clients are closed after 5 seconds, and delay no other") {
    const server server;
    const auto begin = steady::now();
    const client silent(server, 2), trickling(server, 3), late_reader(server, 4),
        slow_reader(server, 5);
    trickling.send("GET /metr");
    late_reader.ask("large");
    slow_reader.ask("large");
    steady::duration silent_for{}, trickled_for{}, longest{};
    bool is_read = false;
    int unanswered = 0;
    while (steady::now() < begin + 7s) {
        const auto now = steady::now();
        if (silent.is_open())
            silent_for = now - begin;
        if (trickling.is_open()) {
            trickled_for = now - begin;
            trickling.send("x");
        }
        if (now > begin + 3s && !std::exchange(is_read, true)) {
            CHECK(slow_reader.receive(large) == client::complete);
            continue;
        }
        unanswered += client(server, 6).is_answered() ? 0 : 1;
        longest = std::max(longest, steady::now() - now);
        std::this_thread::sleep_for(100ms);
    }
    CHECK(silent_for > 4500ms);
    CHECK(silent_for < 6500ms);
    CHECK(trickled_for > 4500ms);
    CHECK(trickled_for < 6500ms);
    CHECK(unanswered == 0);
    // Prometheus waits for 10 s.
    CHECK(longest < 2s);
    CHECK(late_reader.receive(large) < large);
}
