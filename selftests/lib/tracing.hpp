// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"
#include "payload.hpp"
#include "tracefs.hpp"

#include <chrono>
#include <cstdint>
#include <event-parse.h>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace selftest {

/// The name of an event in tracefs: events/SYSTEM/NAME. The event need not exist.
class Event {
public:
    explicit Event(std::string name, std::string system = "user_events")
        : name_(std::move(name)), system_(std::move(system)) {}

    const std::string& name() const { return name_; }
    const std::string& system() const { return system_; }

    /// Returns the path of one of the event's files in the top-level instance.
    std::string path(const std::string& file) const;

    /// Returns whether the event exists.
    bool exists() const;
    /// Polls until the event is removed. Returns false after a timeout.
    bool wait_removed() const;

    /// Reads the event's `format` file. Throws std::system_error.
    std::string format() const;
    /// Reads the event's `id` file. Throws std::system_error.
    int id() const;

    /// Writes 1 or 0 to the event's `enable` file in the top-level instance.
    Outcome enable() const;
    Outcome disable() const;

private:
    std::string name_;
    std::string system_;
};

/// Returns whether the kernel has the eventfs, since Linux 6.6: a directory of an event in tracefs
/// takes memory only while it is used. Throws std::system_error.
bool has_eventfs();

/// Enables and disables an event, `count` changes in all, and returns the median time of a change.
/// Throws std::system_error.
std::chrono::steady_clock::duration median_change_time(const Event& event, unsigned count);

/// An event's `format`, parsed by libtraceevent.
class Format {
public:
    /// Throws std::system_error or std::runtime_error if the event has no valid format.
    explicit Format(const Event& event);

    /// Throws std::runtime_error if the event has no such field.
    const tep_format_field& field(const std::string& name) const;

private:
    std::shared_ptr<tep_handle> formats_;
    tep_event* event_;
};

/// Enables an event in the top-level instance for the lifetime of the object.
class Enabled {
public:
    /// Throws std::system_error.
    explicit Enabled(const Event& event);
    Enabled(const Enabled&) = delete;
    Enabled& operator=(const Enabled&) = delete;
    ~Enabled();

private:
    Event event_;
};

/// A record from a ring buffer, decoded by libtraceevent.
class Record {
public:
    Record(std::shared_ptr<tep_handle> formats, tep_event* event, const tep_record& record);

    std::string event() const { return event_->name; }
    int cpu() const { return record_.cpu; }
    unsigned long long timestamp() const { return record_.ts; }
    long long pid() const { return number("common_pid"); }

    /// Returns the value of a field. Throws std::runtime_error if there is no such field.
    long long number(const std::string& field) const;
    /// Returns the bytes of a field, or the data of a dynamic field. Throws std::runtime_error if
    /// there is no such field, or if the data is outside the record.
    Bytes bytes(const std::string& field) const;
    /// Returns bytes() up to the first NUL, as a string.
    std::string text(const std::string& field) const;
    /// Returns what follows the common fields. The ring buffer pads it to a multiple of 4 bytes.
    Bytes payload() const;

private:
    tep_record view() const;

    std::shared_ptr<tep_handle> formats_;
    tep_event* event_;
    tep_record record_;
    Bytes data_;
};

/// A tracing instance with a unique name, removed at the end of the object's lifetime.
class Instance {
public:
    /// Throws std::system_error.
    Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    ~Instance();

    const std::string& name() const { return name_; }
    /// Returns the path of one of the instance's files.
    std::string path(const std::string& file) const;
    /// Returns the path of one of the event's files in the instance.
    std::string path(const Event& event, const std::string& file) const;

    /// Writes 1, 0 or a filter to a file of the event in this instance. A success has the value 0.
    Outcome enable(const Event& event);
    Outcome disable(const Event& event);
    Outcome set_filter(const Event& event, const std::string& filter) const;

    /// Takes all records of user events and marks out of the ring buffer, sorted by time. Throws
    /// std::system_error.
    std::vector<Record> records();
    /// Returns the event's lines in the `trace` file, without the task, CPU and time before the
    /// event's name. Throws std::system_error.
    std::vector<std::string> trace(const Event& event);

private:
    std::string name_;
    tracefs_instance* instance_;
};

/// A definition in a tracefs file such as dynamic_events, removed at the end of the object's
/// lifetime.
class Definition {
public:
    /// Appends `text` to the file; the destructor appends `removal`. Throws std::system_error.
    Definition(const std::string& file, const std::string& text, std::string removal);
    Definition(const Definition&) = delete;
    Definition& operator=(const Definition&) = delete;
    ~Definition();

private:
    std::string path_;
    std::string removal_;
};

} // namespace selftest
