// SPDX-License-Identifier: GPL-2.0-or-later
// What the processes of .NET have said of their events. The runtime describes an event only in its
// first record of a session.
#pragma once

#include "eventpipe/message.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tool::eventpipe {

class known_events {
public:
    /// What may be remembered of all events. Beyond that, the process with the most is forgotten.
    static constexpr std::size_t most_bytes = 32 << 20;

    /// Learns what the message says of its event, and returns what is known; nullptr if nothing is,
    /// or if one process has described two events of this tracepoint and number. The result is
    /// valid until the next call.
    const description* find(int process, int tracepoint, const message& message);

private:
    struct key {
        int tracepoint;
        std::uint16_t id;
        auto operator<=>(const key&) const = default;
    };
    struct known {
        /// Nothing if it is malformed or ambiguous.
        std::optional<eventpipe::description> description;
        std::string metadata;
        std::size_t size = 0;
    };
    struct program {
        std::map<key, known> events;
        std::size_t size = 0;
    };

    void learn(int process, const key& key, bytes metadata);
    void limit();

    std::map<int, program> programs_;
    std::size_t size_ = 0;
};

} // namespace tool::eventpipe
