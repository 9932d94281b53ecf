// SPDX-License-Identifier: GPL-2.0-or-later
// Answers GET and HEAD requests over HTTP, for one path.
#pragma once

#include "metrics/connections.hpp"

#include <functional>
#include <memory>
#include <string>

struct MHD_Daemon;

namespace tool::metrics {

struct response {
    std::string type;
    std::string text;
};

/// Throws text::usage_error unless it is an address for http_server.
void check_address(const std::string& address);

class http_server {
public:
    /// Makes the answer to a request whose header Accept is this. What it throws becomes an answer
    /// with the status 500.
    using handler = std::function<response(const std::string& accept)>;

    /// The address is `HOST:PORT` with a numeric host, `[HOST]:PORT`, or `:PORT` for all addresses.
    /// Throws text::usage_error or text::failure.
    http_server(const std::string& address, std::string path, handler answer);
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;
    ~http_server();

    /// Readable when run() has something to do.
    int file() const noexcept { return file_; }
    /// How long the caller may wait for the file: `milliseconds`, or less if there is something to
    /// do before.
    int wait_at_most(int milliseconds) const;
    /// Answers what has arrived, and closes connections that are late or too many. Does not wait.
    void run();

    /// Where the server listens, as HOST:PORT.
    const std::string& address() const noexcept { return address_; }

private:
    struct stop {
        void operator()(MHD_Daemon* daemon) const noexcept;
    };
    friend struct request;

    std::string path_;
    handler answer_;
    connections connections_;
    std::unique_ptr<MHD_Daemon, stop> daemon_;
    int file_ = -1;
    std::string address_;
};

} // namespace tool::metrics
