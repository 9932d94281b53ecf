// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/http_server.hpp"

#include "text/errors.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <microhttpd.h>

namespace tool::metrics {

namespace {

using addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

[[noreturn]] void throw_no_address(const std::string& text) {
    throw text::usage_error(fmt::format("\"{}\" is no address to listen at", text),
                            "write it as 127.0.0.1:9927, [::1]:9927, or :9927 for all addresses");
}

/// The kernel may lack IPv6.
bool has_ipv6() {
    const int made = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made >= 0)
        close(made);
    return made >= 0;
}

addresses resolve(const std::string& text) {
    const auto colon = text.rfind(':');
    // getaddrinfo() takes larger ones, modulo 65536.
    if (colon == text.npos ||
        !text::to_number<std::uint16_t>(std::string_view(text).substr(colon + 1)))
        throw_no_address(text);
    std::string host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    else if (host.find(':') != host.npos)
        throw_no_address(text);
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    hints.ai_socktype = SOCK_STREAM;
    // With AF_INET6 and without a host, the server takes both families.
    hints.ai_family = !host.empty() ? AF_UNSPEC : has_ipv6() ? AF_INET6 : AF_INET;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.empty() ? nullptr : host.c_str(), text.c_str() + colon + 1, &hints,
                    &found) != 0)
        throw_no_address(text);
    return {found, freeaddrinfo};
}

/// The port may have been 0: the kernel has chosen one.
std::string address_of(MHD_Daemon* daemon) {
    const MHD_DaemonInfo* const info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_LISTEN_FD);
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (!info || getsockname(info->listen_fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0 ||
        getnameinfo(reinterpret_cast<sockaddr*>(&bound), size, host, sizeof(host), port,
                    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return "?";
    return bound.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                       : fmt::format("{}:{}", host, port);
}

int socket_of(MHD_Connection* connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/// The bytes of the client's address.
std::string client_of(MHD_Connection* connection) {
    const sockaddr* const from =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    const auto bytes = [](const auto& address) {
        return std::string(reinterpret_cast<const char*>(&address), sizeof(address));
    };
    return from->sa_family == AF_INET6
               ? bytes(reinterpret_cast<const sockaddr_in6*>(from)->sin6_addr)
               : bytes(reinterpret_cast<const sockaddr_in*>(from)->sin_addr);
}

MHD_Result send(MHD_Connection* to, unsigned status, const response& answer) {
    const std::unique_ptr<MHD_Response, decltype(&MHD_destroy_response)> made(
        MHD_create_response_from_buffer(answer.text.size(), const_cast<char*>(answer.text.data()),
                                        MHD_RESPMEM_MUST_COPY),
        MHD_destroy_response);
    if (!made)
        return MHD_NO;
    MHD_add_response_header(made.get(), MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str());
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(made.get(), MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    return MHD_queue_response(to, status, made.get());
}

} // namespace

void check_address(const std::string& address) {
    resolve(address);
}

/// Called by the library, which is written in C: throws nothing.
struct request {
    static void connected(void* server, MHD_Connection* connection, void** /*context*/,
                          MHD_ConnectionNotificationCode what) noexcept {
        auto& connections = static_cast<http_server*>(server)->connections_;
        if (what == MHD_CONNECTION_NOTIFY_STARTED)
            connections.opened(socket_of(connection), client_of(connection));
        else
            connections.closed(socket_of(connection));
    }

    static void ended(void* server, MHD_Connection* connection, void** /*state*/,
                      MHD_RequestTerminationCode /*how*/) noexcept {
        static_cast<http_server*>(server)->connections_.restart(socket_of(connection));
    }

    static MHD_Result answer(void* server, MHD_Connection* connection, const char* path,
                             const char* method, const char* /*version*/, const char* /*data*/,
                             std::size_t* data_size, void** state) noexcept {
        // The first call is before the body, if any, the others bring it.
        if (!*state) {
            *state = server;
            return MHD_YES;
        }
        if (*data_size) {
            *data_size = 0;
            return MHD_YES;
        }
        auto& self = *static_cast<http_server*>(server);
        const auto answer_with = [&](unsigned status, const response& answer) {
            // The time that it took to make the answer is not the client's.
            self.connections_.restart(socket_of(connection));
            return send(connection, status, answer);
        };
        static const std::string plain = "text/plain; charset=utf-8";
        if (std::strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
            std::strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
            return answer_with(MHD_HTTP_METHOD_NOT_ALLOWED, {plain, "only GET and HEAD\n"});
        if (path != self.path_)
            return answer_with(MHD_HTTP_NOT_FOUND,
                               {plain, fmt::format("the metrics are at {}\n", self.path_)});
        const char* const accept =
            MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
        try {
            return answer_with(MHD_HTTP_OK, self.answer_(accept ? accept : ""));
        } catch (const std::exception& error) {
            return answer_with(MHD_HTTP_INTERNAL_SERVER_ERROR,
                               {plain, fmt::format("{}\n", error.what())});
        }
    }
};

void http_server::stop::operator()(MHD_Daemon* daemon) const noexcept {
    MHD_stop_daemon(daemon);
}

http_server::http_server(const std::string& address, std::string path, handler answer)
    : path_(std::move(path)), answer_(std::move(answer)) {
    const addresses at = resolve(address);
    unsigned flags = MHD_USE_EPOLL;
    if (at->ai_family == AF_INET6)
        flags |= address.starts_with(':') ? MHD_USE_DUAL_STACK : MHD_USE_IPv6;
    errno = 0;
    // The library accepts a few connections before those that are too many can be shut down. Its
    // own time limit starts again with each byte.
    daemon_.reset(MHD_start_daemon(
        flags, 0, nullptr, nullptr, request::answer, this, MHD_OPTION_SOCK_ADDR, at->ai_addr,
        MHD_OPTION_NOTIFY_CONNECTION, request::connected, this, MHD_OPTION_NOTIFY_COMPLETED,
        request::ended, this, MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(connections::most) + 16, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        std::size_t{32} << 10, MHD_OPTION_END));
    if (!daemon_)
        throw text::failure(fmt::format("cannot listen at {}: {}", address, std::strerror(errno)),
                            errno == EADDRINUSE
                                ? "another program listens there: choose another port with --listen"
                                : "--listen chooses another address");
    const MHD_DaemonInfo* const info = MHD_get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_EPOLL_FD);
    if (!info)
        throw text::failure("libmicrohttpd has no epoll");
    file_ = info->epoll_fd;
    address_ = address_of(daemon_.get());
}

http_server::~http_server() = default;

int http_server::wait_at_most(int milliseconds) const {
    std::int64_t longest = milliseconds;
    MHD_UNSIGNED_LONG_LONG timeout = 0;
    if (MHD_get_timeout(daemon_.get(), &timeout) == MHD_YES)
        longest = std::min(longest, static_cast<std::int64_t>(timeout));
    if (const auto deadline = connections_.deadline()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*deadline - connections::clock::now());
        longest = std::clamp<std::int64_t>(left.count(), 0, longest);
    }
    return static_cast<int>(longest);
}

void http_server::run() {
    // What the client has sent by now is read before it is found late, however long answers take.
    const auto now = connections::clock::now();
    MHD_run(daemon_.get());
    connections_.shut_down_excess(now);
}

} // namespace tool::metrics
