// SPDX-License-Identifier: GPL-2.0-only
// What a program spends on its events, with any tracer.
#pragma once

#include "clock.hpp"
#include "report.hpp"

#include <concepts>
#include <cstdint>
#include <string>

namespace bench {

/// Returns a value that the compiler does not know. Takes one instruction.
template <typename T>
T unknown(T value) {
    asm volatile("" : "+r"(value));
    return value;
}

/// Adds the cost of an event with a field of 8 bytes, and of one with a field of 4 bytes and a
/// string of 40 bytes. It includes the check whether the event is enabled, and the arrangement of
/// the fields for the tracer. It excludes the loop, and other threads and processes.
template <std::invocable<std::uint64_t> Number, std::invocable<std::uint32_t, const char*> Text>
[[gnu::always_inline]] inline void add_events(Report& report, const std::string& tracer_and_state,
                                              Number write_number, Text write_text) {
    const auto value = [] { return unknown<std::uint64_t>(123'456'789); };
    const auto number = [] { return unknown<std::uint32_t>(1); };
    const auto text = [] { return unknown("a string of 39 characters and then NUL."); };
    const auto add = [&](const char* event, auto write, auto only_fields) {
        constexpr clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
        report.add(std::string("an event ") + event + ", " + tracer_and_state,
                   cost(write, clock) - cost(only_fields, clock));
    };
    add(
        "of 8 bytes", [&] { write_number(value()); }, [&] { value(); });
    add(
        "with a string", [&] { write_text(number(), text()); }, [&] { number(), text(); });
}

/// How many records add_events() writes of each event.
inline constexpr std::uint64_t records_of_event = batches * batch;

} // namespace bench
