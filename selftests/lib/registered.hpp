// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "tracing.hpp"
#include "user_events.hpp"

#include <cstdint>
#include <string>

namespace selftest {

/// An event registered through a file of its own. Nobody records it yet.
struct Registered {
    /// Takes the fields as they stand in the command, with the space before them.
    explicit Registered(const std::string& fields)
        : event(unique_name("registered")), index(file.index_of(&word, 0, event.name() + fields)) {}

    Outcome record(const Payload& payload = {}) { return file.record(index, payload); }
    /// What stands behind the event's name in user_events_status.
    std::string status() const { return status_line(event.name()).substr(event.name().size()); }

    Word word{0};
    DataFile file;
    const Event event;
    const std::uint32_t index;
};

} // namespace selftest
