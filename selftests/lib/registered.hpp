// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "tracing.hpp"
#include "user_events.hpp"

#include <cstdint>
#include <string>

namespace selftest {

/// An event with a unique name, registered with bit 0 of `word` through its own open file.
struct Registered {
    /// `fields` follows the name in the command: it is empty or begins with a space. Throws
    /// std::system_error if the registration fails.
    explicit Registered(const std::string& fields, const char* topic = "registered")
        : event(unique_name(topic)), index(file.must_register(&word, 0, event.name() + fields)) {}

    /// Writes a record.
    Outcome record(const Payload& payload = {}) { return file.record(index, payload); }
    /// Returns SYSTEM:NAME, the form that tools expect.
    std::string full_name() const { return event.system() + ":" + event.name(); }
    /// Returns what follows the event's name in user_events_status.
    std::string status() const { return status_line(event.name()).substr(event.name().size()); }

    Word word{0};
    DataFile file;
    const Event event;
    const std::uint32_t index;
};

/// A Registered event, enabled in its own tracing instance for the lifetime of the object.
struct Recorded : Registered {
    /// Throws std::system_error.
    explicit Recorded(const std::string& fields) : Registered(fields) {
        expect(instance.enable(event), "enable " + event.name());
    }
    ~Recorded() { instance.disable(event); }

    Instance instance;
};

} // namespace selftest
