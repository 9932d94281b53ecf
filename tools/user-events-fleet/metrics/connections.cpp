// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/connections.hpp"

#include <algorithm>
#include <map>
#include <sys/socket.h>
#include <utility>

namespace tool::metrics {

void connections::opened(int socket, std::string address) {
    open_.push_back({socket, std::move(address), clock::now()});
}

void connections::closed(int socket) {
    open_.remove_if([&](const connection& each) { return each.socket == socket; });
}

void connections::restart(int socket) {
    const auto found = std::find_if(open_.begin(), open_.end(),
                                    [&](const connection& each) { return each.socket == socket; });
    if (found == open_.end())
        return;
    found->since = clock::now();
    open_.splice(open_.end(), open_, found);
}

void connections::shut_down_excess(clock::time_point now) {
    std::map<std::string, std::size_t> of_address;
    for (const auto& each : open_)
        of_address[each.address]++;
    // An address with too many must not push out those of others.
    open_.remove_if([&](const connection& each) {
        std::size_t& same = of_address[each.address];
        if (now - each.since < time_limit && same <= most_of_address)
            return false;
        same--;
        shutdown(each.socket, SHUT_RDWR);
        return true;
    });
    while (open_.size() > most) {
        shutdown(open_.front().socket, SHUT_RDWR);
        open_.pop_front();
    }
}

std::optional<connections::clock::time_point> connections::deadline() const {
    return open_.empty() ? std::nullopt : std::optional(open_.front().since + time_limit);
}

} // namespace tool::metrics
