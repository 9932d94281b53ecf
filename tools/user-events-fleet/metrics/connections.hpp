// SPDX-License-Identifier: GPL-2.0-or-later
// Bounds what clients can keep of a server: connections, and time.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>

namespace tool::metrics {

/// The open connections of a server. The server accepts, answers and closes them; this only shuts
/// down their sockets, whereupon the server finds that they have ended.
class connections {
public:
    using clock = std::chrono::steady_clock;

    /// To send a request, and again to read the answer.
    static constexpr std::chrono::seconds time_limit{5};
    static constexpr std::size_t most_of_address = 16;
    static constexpr std::size_t most = 48;

    /// The address is compared only.
    void opened(int socket, std::string address);
    /// Before the socket is closed: another file may have its number then.
    void closed(int socket);
    /// Gives the client the whole time again.
    void restart(int socket);

    /// Shuts down the connections that were late at this time, and those that are too many, the
    /// oldest first.
    void shut_down_excess(clock::time_point now);
    /// When the next one is late.
    std::optional<clock::time_point> deadline() const;

private:
    struct connection {
        int socket;
        std::string address;
        clock::time_point since;
    };

    /// Sorted by time. Without those that were shut down.
    std::list<connection> open_;
};

} // namespace tool::metrics
