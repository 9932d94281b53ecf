// SPDX-License-Identifier: GPL-2.0-or-later
// Has the kernel count the records of user events, for `serve`.
#pragma once

#include "metrics/names.hpp"
#include "tracing/events.hpp"
#include "tracing/histogram.hpp"
#include "tracing/rules.hpp"
#include "tracing/tracefs.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tool::metrics {

/// A field whose values are counted.
struct chosen_field {
    /// `EVENT:FIELD`, of the group if there is one, or `SYSTEM:EVENT:FIELD`. Throws
    /// text::usage_error for anything else.
    chosen_field(const std::string& text, const std::string& group);

    tracing::pattern event;
    std::string field;
};

struct limits {
    /// Events that are counted. Each takes memory of the kernel.
    std::uint64_t events = 500;
    /// Programs that each event is counted for.
    std::uint64_t programs = 50;
};

/// How often a field had a value of up to 2^n, by n. Above 2^63 n is 64.
struct distribution {
    bool is_signed = false;
    unsigned bits = 0;
    std::map<unsigned, std::uint64_t> counts;
    /// Modulo 2^64.
    std::uint64_t sum = 0;
    /// Whether a value was negative: the sum can then fall.
    bool has_negative = false;
};

/// The counts of the events with one registered name: one event, or all formats of a multi-format
/// one.
struct event_counts {
    /// Records by the program that made them, in UTF-8: programs with the same label have one
    /// count. `others` is for programs that have no count of their own.
    std::map<std::string, std::uint64_t> records;
    std::uint64_t others = 0;
    std::uint64_t lost = 0;
    std::uint64_t recorders = 0;
    std::map<std::string, distribution> fields;
};

struct sample {
    std::map<std::string, event_counts> events;
    all_name_counts names;
    std::uint64_t registered = 0;
    /// Events over the limit, which are not counted.
    std::uint64_t not_counted = 0;
    /// Most events at a time; 0 if the kernel does not tell.
    std::uint64_t most = 0;
    /// Whether the kernel counts lost records.
    bool has_lost = false;
};

/// While the object exists, histogram triggers in the instance count the records of events that
/// match. With the kernel module's rules an event is counted from its first record on. The
/// functions throw text::failure.
class counting {
public:
    /// Without patterns, all user events and marks are counted. The instance has to outlive this.
    counting(const tracing::instance& in, std::vector<tracing::pattern> patterns,
             std::vector<chosen_field> fields, const limits& limits);
    counting(const counting&) = delete;
    counting& operator=(const counting&) = delete;
    ~counting() = default;

    /// Looks for new events. To be called every second or so.
    void update();

    /// Reads all counts. Numbers do not decrease from one sample to the next.
    sample read();

private:
    /// The counts of one event in tracefs.
    struct state {
        /// By program. The kernel's table has those of now; what it had before it was cleared is
        /// in `before`, or in `folded` for programs without a count of their own.
        std::map<std::string, std::uint64_t> before, now;
        std::uint64_t folded = 0;
        /// Records that the kernel's table lacks.
        std::uint64_t missing = 0;
        /// The kernel's table is half full or more.
        bool is_crowded = false;
        std::map<std::string, distribution> fields;
    };

    void add_rules();
    void attach(const tracing::event_name& name);
    void detach(const tracing::event_name& name);
    void add_fields(const tracing::event_name& name, state& to);
    std::vector<std::string> triggers_of(const tracing::event_name& name) const;
    void read(const tracing::event_name& name, state& to);
    void read_programs(const std::vector<tracing::histogram>& from, state& to);
    void make_room(const tracing::event_name& name, state& of);
    bool has_own_number(const tracing::event_name& name, const std::string& program);
    void add(const tracing::event_name& name, const state& from, event_counts& to);

    const tracing::instance& in_;
    std::vector<tracing::pattern> patterns_;
    std::vector<chosen_field> fields_;
    limits limits_;
    bool has_rules_;
    std::vector<tracing::temporary_rule> rules_;
    std::map<tracing::event_name, state> states_;
    std::set<tracing::event_name> not_counted_;
    /// The programs with a count of their own, by the event's registered name.
    std::map<std::string, std::set<std::string>> programs_;
    tracing::formats formats_{tracing::instance::existing(in_.name())};
};

} // namespace tool::metrics
