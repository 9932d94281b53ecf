// SPDX-License-Identifier: GPL-2.0-or-later
// A record, and how it is shown.
#pragma once

#include "eventheader/cells.hpp"
#include "eventheader/choice.hpp"
#include "eventheader/payload_filter.hpp"
#include "eventpipe/known_events.hpp"
#include "recording/event_type.hpp"
#include "recording/stack.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tool::recording {

/// A record of an event. What it refers to exists until the next record is read.
struct record {
    std::uint64_t time; // nanoseconds: since the boot, or as is_wall_clock() says
    int cpu;
    int pid;
    int tgid; // 0 if it is not known
    std::string_view task;
    std::string_view instance; // empty for the top-level one
    const event_type* event;
    bytes data;
    /// The name of the thread if that of the process is not known.
    std::string_view process_name = {};
    /// What describe() has found: the event of a record of .NET, if it is known.
    const eventpipe::description* description = nullptr;
    /// The machine, if the records are of several.
    std::string_view host = {};
    /// What was added to the numbers of threads and processes, to tell those of machines apart.
    int distance = 0;

    /// No kernel has a thread with this number.
    static constexpr int machine_distance = 10'000'000;
    /// The functions that were active when the record was made; nullptr if it is not known.
    const recording::stack* stack = nullptr;

    /// The name of the process without that of the machine, which is in front of it if there are
    /// several.
    std::string_view program() const noexcept {
        return process_name.substr(host.empty() ? 0 : host.size() + host_separator.size());
    }
    static constexpr std::string_view host_separator = ": ";

    /// The process; if that is not known, the thread.
    int process() const noexcept { return tgid ? tgid : pid; }
};

/// What every record begins with.
struct record_head {
    int event; // -1 if the record is too short
    int thread;
};
record_head to_head(bytes data, bool is_big_endian) noexcept;

/// Records that the kernel dropped, because a buffer was full, before the next record of a CPU.
struct gap {
    std::uint64_t since; // the time of the record before; that of the next one if there is none
    std::uint64_t time;  // of the next record
    int cpu;
    std::string_view instance;  // empty for the top-level one
    std::uint64_t lost;         // 0 if the number is not known
    std::string_view host = {}; // the machine, if there are several
};

/// Whether a time is counted from 1970. No computer has been up for the 30 years that would make
/// its own time as large.
constexpr bool is_wall_clock(std::uint64_t time) noexcept {
    return time >= 1'000'000'000'000'000'000;
}

/// Appends a time: local date and time of day, or seconds since the boot, with microseconds.
void append_time(std::string& to, std::uint64_t time);

/// Appends a time as a number of seconds, with all nanoseconds.
void append_seconds(std::string& to, std::uint64_t time);

/// Appends the name of the event: that which the program gave it, if the record's payload has one.
void append_name(std::string& to, const record& record);

/// The name that the program gave the event in the payload, without its provider; empty if there is
/// none.
std::string described_name(const record& record);

/// Whether the provider and this name are those of a pattern PROVIDER:EVENT.
bool matches(const eventheader::event_pattern& pattern, const record& record);

/// Learns what a record of .NET says of its event, and finds what is known of it. To be called for
/// each record, in their order, also for those that are not shown. Does nothing for other records.
void describe(record& record, eventpipe::known_events& known);

/// A record whose payload describes itself, from its first field on.
eventheader::shown_event to_shown_event(const record& record);

/// Calls the function for each number in a payload that describes itself.
void for_each_number(const record& record,
                     const std::function<void(const std::string& name, double number)>& function);

/// Throws text::usage_error if the text is no filter.
eventheader::filter to_filter(const std::string& text);
/// The filter as the kernel reads it; empty without a text. Throws text::usage_error also for what
/// the kernel cannot do.
std::string to_kernel_filter(const std::string& text);

/// Whether a record passes a filter.
bool passes(eventheader::filter& filter, const record& record);

/// After all records: warns about names in the filter that none of them had.
void warn_of_unknown_fields(const eventheader::filter& filter);

/// Appends the functions of the record's stack, the innermost one first, each between two texts.
void append_stack(std::string& to, const record& record, std::string_view before,
                  std::string_view behind);
/// The text of the field that exports have for the stack, empty for a record without one; nothing
/// if the record's event has no such field.
std::optional<std::string> shown_stack(const record& record);
/// Appends a stack as a JSON array.
void append_json_stack(std::string& to, const stack& stack);

/// Appends a line of text for a terminal, with its end, and a line for each function of the stack.
void append_line(std::string& to, const record& record);

/// Appends a line with a JSON object, with its end.
void append_json_line(std::string& to, const record& record);

/// The same for records that are missing: their number is `lost`, null if it is not known.
void append_json_line(std::string& to, const gap& gap);

/// Appends the fields as a JSON object. `with_stack` also adds the stack, where exports have it as
/// a field.
void append_json_fields(std::string& to, const record& record, bool with_stack = true);

} // namespace tool::recording
