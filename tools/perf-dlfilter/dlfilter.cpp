// SPDX-License-Identifier: GPL-2.0-or-later
// A filter for `perf script --dlfilter`: prints EventHeader events as their payloads describe them.
// perf prints the other events. perf-dlfilter(1) describes the interface.
//
//	--dlarg json		a line of JSON for each decoded event
//	--dlarg records=WORD	what `user-events report` reads: see recording/perf_data.cpp
//	--dlarg raw		decodes nothing
#include "eventheader/show.hpp"
#include "eventheader/tracepoint_name.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What perf finds by name. The header is for C.
#pragma GCC visibility push(default)
extern "C" {
#include <perf/perf_dlfilter.h>

/// perf fills it.
struct perf_dlfilter_fns perf_dlfilter_fns;
}
#pragma GCC visibility pop

namespace {

using namespace tool;

enum class output { lines, json, records };
output chosen = output::lines;
std::string_view mark; // before each record
bool is_raw = false;

/// Behind the fields that all events have in ftrace and perf: common_type to common_pid.
constexpr std::size_t common_size = 8;
/// The bits that the flags of a header can have.
constexpr unsigned known_flags = 7;

struct names {
    std::string_view system;
    std::string_view event;
};

/// perf's name of an event is `system:event`.
names names_of(const perf_dlfilter_sample& sample) {
    const std::string_view whole = sample.event ? sample.event : "";
    const auto colon = whole.find(':');
    if (colon == whole.npos)
        return {{}, whole};
    std::string_view event = whole.substr(colon + 1);
    // Modifiers, as in `user_events:a:u`.
    return {whole.substr(0, colon), event.substr(0, event.find(':'))};
}

eventheader::bytes payload_of(const perf_dlfilter_sample& sample) {
    const eventheader::bytes raw(static_cast<const std::byte*>(sample.raw_data),
                                 sample.raw_data ? sample.raw_size : 0);
    return raw.size() > common_size ? raw.subspan(common_size) : eventheader::bytes();
}

/// The format is not known here: the name and the flags have to tell.
bool is_described(const names& names, eventheader::bytes payload) {
    return (names.system == "user_events" || names.system == "user_events_multi") &&
           eventheader::to_tracepoint_name(names.event).is_complete && !payload.empty() &&
           std::to_integer<unsigned>(payload[0]) <= known_flags;
}

std::string_view task_of(void* context) {
    const perf_dlfilter_al* const place =
        perf_dlfilter_fns.resolve_ip ? perf_dlfilter_fns.resolve_ip(context) : nullptr;
    return place && place->comm ? place->comm : "";
}

constexpr std::uint64_t second = 1'000'000'000;
/// What perf has in place of the time of a record that has none.
constexpr std::uint64_t no_time = ~std::uint64_t{0};

/// As perf prints its lines.
void append_line(std::string& to, const perf_dlfilter_sample& sample, std::string_view task,
                 const eventheader::shown_event& shown) {
    fmt::format_to(std::back_inserter(to), "{:>16} {:>7} [{:03}] ", text::escaped(task), sample.tid,
                   sample.cpu);
    if (sample.time != no_time)
        fmt::format_to(std::back_inserter(to), "{:>5}.{:06}: ", sample.time / second,
                       sample.time % second / 1000);
    eventheader::append_line(to, shown);
    to += '\n';
}

/// As `user-events report --json` prints them.
void append_json(std::string& to, const perf_dlfilter_sample& sample, std::string_view task,
                 const names& names, const eventheader::shown_event& shown) {
    fmt::format_to(std::back_inserter(to), "{{\"time\":{},\"cpu\":{},\"task\":",
                   sample.time == no_time
                       ? "null"
                       : fmt::format("{}.{:09}", sample.time / second, sample.time % second),
                   sample.cpu);
    text::append_json(to, task);
    fmt::format_to(std::back_inserter(to), ",\"pid\":{},\"tgid\":{},\"system\":", sample.tid,
                   sample.pid);
    text::append_json(to, names.system);
    eventheader::append_json_members(to, shown);
    to += "}\n";
}

/// What the addresses in a callchain stand for if they are no addresses: those that follow are of
/// the kernel, or of the program.
bool is_context(std::uint64_t address) {
    return address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX);
}

/// A line for each function of the callchain, the innermost one first, as in recording::stack.
std::string stack_of(const perf_dlfilter_sample& sample, void* context) {
    std::string result;
    for (std::uint64_t i = 0; i < sample.raw_callchain_nr && sample.raw_callchain; i++) {
        const std::uint64_t address = sample.raw_callchain[i];
        if (is_context(address))
            continue;
        perf_dlfilter_al place{};
        place.size = sizeof(place);
        const bool is_known = perf_dlfilter_fns.resolve_address &&
                              perf_dlfilter_fns.resolve_address(context, address, &place) == 0 &&
                              place.sym;
        if (!is_known)
            fmt::format_to(std::back_inserter(result), "{:#x}\n", address);
        else if (place.is_kernel_ip || !place.dso)
            fmt::format_to(std::back_inserter(result), "{}+{:#x}\n", place.sym, place.symoff);
        else
            fmt::format_to(std::back_inserter(result), "{}+{:#x} ({})\n", place.sym, place.symoff,
                           place.dso);
    }
    return result;
}

/// perf's own events, such as `cpu-clock:u`, have no system in their names, only modifiers.
std::string name_with_system(const perf_dlfilter_sample& sample, void* context) {
    const perf_event_attr* const attributes =
        perf_dlfilter_fns.attr ? perf_dlfilter_fns.attr(context) : nullptr;
    const std::string_view name = sample.event ? sample.event : "";
    const auto modifiers = name.substr(std::min(name.rfind(':'), name.size()));
    const bool is_own = attributes && attributes->type != PERF_TYPE_TRACEPOINT &&
                        modifiers.find_first_not_of(":ukhpPHGSDIWeb") == name.npos;
    return fmt::format("{}{}", is_own ? "perf:" : "", name);
}

/// The line that the tool's recording/perf_data.cpp reads.
void append_record(std::string& to, const perf_dlfilter_sample& sample, std::string_view name,
                   std::string_view task, eventheader::bytes payload, bool is_described,
                   std::string_view stack) {
    const auto append_text = [&](std::string_view text) {
        to += '\t';
        text::append_hexadecimal(to, std::as_bytes(std::span(text)));
    };
    fmt::format_to(std::back_inserter(to), "{}\t{}\t{}\t{}\t{}", mark, sample.time, sample.cpu,
                   sample.pid, sample.tid);
    append_text(task);
    append_text(name);
    append_text(stack);
    to += '\t';
    if (is_described)
        text::append_hexadecimal(to, payload);
    else
        to += '-';
    to += '\n';
}

/// Returns whether perf shall not print the event.
bool show(const perf_dlfilter_sample& sample, void* context) {
    static const std::vector<std::string> all;
    const names names = names_of(sample);
    const eventheader::bytes payload = payload_of(sample);
    const bool is_ours = !is_raw && is_described(names, payload);
    if (!is_ours && chosen != output::records)
        return false;
    const std::string_view task = task_of(context);
    std::string text;
    if (chosen == output::records)
        append_record(text, sample, name_with_system(sample, context), task, payload, is_ours,
                      stack_of(sample, context));
    else if (chosen == output::json)
        append_json(text, sample, task, names, eventheader::shown_event(names.event, payload, all));
    else
        append_line(text, sample, task, eventheader::shown_event(names.event, payload, all));
    // perf's own lines go to the same stream.
    std::fwrite(text.data(), 1, text.size(), stdout);
    return is_ours;
}

} // namespace

int start(void**, void* context) {
    int count = 0;
    char** const arguments =
        perf_dlfilter_fns.args ? perf_dlfilter_fns.args(context, &count) : nullptr;
    for (int i = 0; i < count; i++) {
        const std::string_view argument = arguments[i];
        if (argument == "json") {
            chosen = output::json;
        } else if (argument.starts_with("records=")) {
            chosen = output::records;
            mark = argument.substr(argument.find('=') + 1);
        } else if (argument == "raw") {
            is_raw = true;
        } else {
            std::fprintf(stderr, "user-events: --dlarg can be json\n");
            return -1;
        }
    }
    return 0;
}

int filter_event(void*, const perf_dlfilter_sample* sample, void* context) {
    try {
        return show(*sample, context) ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "user-events: %s\n", error.what());
        return -1;
    }
}

const char* filter_description(const char** long_description) {
    static constexpr char text[] =
        "Prints events of OpenTelemetry and LinuxTracepoints with the fields in their payloads.\n"
        "With --dlarg json, as lines of JSON.";
    if (long_description)
        *long_description = text;
    return "decodes EventHeader events";
}
