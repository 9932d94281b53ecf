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

/// An event as tracing sees it: events/SYSTEM/NAME.
class Event {
public:
    explicit Event(std::string name, std::string system = "user_events")
        : name_(std::move(name)), system_(std::move(system)) {}

    const std::string& name() const { return name_; }
    const std::string& system() const { return system_; }

    /// The path of one of the event's files.
    std::string path(const std::string& file) const;

    bool exists() const;
    /// Polls until the event is gone. Returns whether it went before the deadline.
    bool goes() const;

    std::string format() const;
    int id() const;

    /// Writes to the event's `enable` (the top-level instance).
    Outcome enable() const;
    Outcome disable() const;
    /// What `enable` says, without the end of the line.
    std::string enabled() const;

private:
    std::string name_;
    std::string system_;
};

/// Whether bits may be late for whose memory the kernel has to do something: at a change of state
/// it waits 200 ms for that and 10 ms for each of so many processes, and whom it has waited for in
/// vain it does not wait for at the next changes. So that is where a change by one of the calls
/// above or below took nearly as long.
bool bits_may_be_late(unsigned processes = 1);

/// Whether something is as it should be when such a change returns. It may come right later where
/// bits may be late.
bool at_once(const std::function<bool()>& is_right, unsigned processes = 1);

/// How long a change takes, of so many that enable an event and disable it again: half of them take
/// longer.
std::chrono::steady_clock::duration median_change(const Event& event, unsigned count);

/// An event's `format` as libtraceevent understands it.
class Format {
public:
    explicit Format(const Event& event);

    /// Throws std::runtime_error when there is no such field.
    const tep_format_field& field(const std::string& name) const;

private:
    std::shared_ptr<tep_handle> formats_;
    tep_event* event_;
};

/// Enables an event in the top-level instance for as long as the object lives.
class Enabled {
public:
    explicit Enabled(const Event& event);
    Enabled(const Enabled&) = delete;
    Enabled& operator=(const Enabled&) = delete;
    ~Enabled();

private:
    Event event_;
};

/// One record read back, decoded by libtraceevent with the event's `format`.
class Record {
public:
    Record(std::shared_ptr<tep_handle> formats, tep_event* event, const tep_record& record);

    std::string event() const { return event_->name; }
    int cpu() const { return record_.cpu; }
    unsigned long long timestamp() const { return record_.ts; }
    /// The common_pid.
    long long pid() const { return number("common_pid"); }

    /// The value of a field. Throws std::runtime_error when there is no such field.
    long long number(const std::string& field) const;
    /// The bytes of a field; those behind a location, where the field is one.
    Bytes bytes(const std::string& field) const;
    /// The same up to the first NUL.
    std::string text(const std::string& field) const;
    /// What follows the common fields. The ring buffer pads records to a multiple of four bytes.
    Bytes payload() const;

private:
    tep_record view() const;

    std::shared_ptr<tep_handle> formats_;
    tep_event* event_;
    tep_record record_;
    Bytes data_;
};

/// A tracing instance of the test's own, destroyed with the object.
class Instance {
public:
    Instance();
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    ~Instance();

    const std::string& name() const { return name_; }
    std::string path(const std::string& file) const;

    Outcome enable(const Event& event);
    Outcome disable(const Event& event);

    /// All records of user events in there, in the order of time. They are taken out.
    std::vector<Record> records();
    /// The lines of the `trace` file that are no comment, from the event's name on: what stands
    /// before it names the task, the CPU and the time.
    std::vector<std::string> trace(const Event& event);

private:
    Outcome switch_event(const Event& event, const char* state);

    std::string name_;
    tracefs_instance* instance_;
};

/// A line of a file in tracefs where such are added, taken away again with the object.
class Definition {
public:
    Definition(const std::string& file, const std::string& text, std::string removal);
    Definition(const Definition&) = delete;
    Definition& operator=(const Definition&) = delete;
    ~Definition();

private:
    std::string path_;
    std::string removal_;
};

} // namespace selftest
