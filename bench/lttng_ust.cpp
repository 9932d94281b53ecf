// SPDX-License-Identifier: GPL-2.0-only
// Measures what a program spends on an event with LTTng, and prints the figures as JSON, like
// measure.cpp. It is a program of its own because liblttng-ust starts threads in each program, and
// system calls cost more in a process with threads. lttng-sessiond has to run.
#include "program.hpp"

#include "tool.hpp"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.hpp"

#include <filesystem>
#include <iostream>
#include <stdexcept>

using namespace selftest;

namespace {

/// The least that LTTng stores of an event: a header of 4 bytes, and the fields.
constexpr std::uint64_t stored_number = 4 + 8, stored_text = 4 + 4 + 40;

[[gnu::noinline]] void add(bench::Report& report, const std::string& state) {
    bench::add_events(
        report, "LTTng-UST, " + state,
        [](std::uint64_t value) { lttng_ust_tracepoint(bench, number, value); },
        [](std::uint32_t number, const char* text) {
            lttng_ust_tracepoint(bench, text, number, text);
        });
}

std::uint64_t size_of_files(const std::string& directory) {
    std::uint64_t size = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
        if (entry.is_regular_file())
            size += entry.file_size();
    return size;
}

} // namespace

int main() {
    const TemporaryDirectory directory;
    const auto lttng = [&](const std::string& command) {
        return output_of(directory, "lttng " + command);
    };
    bench::Report report;
    add(report, "disabled");

    const std::string trace = directory.file("trace");
    lttng("create bench --output=" + trace);
    lttng("enable-event --userspace 'bench:*'");
    lttng("start");
    add(report, "recorded");
    lttng("stop");

    const std::string state = lttng("list bench");
    if (state.find("Discarded events: 0\n") == std::string::npos)
        throw std::runtime_error("LTTng has lost events: " + state);
    const std::uint64_t size = size_of_files(trace);
    if (size < bench::records_of_event * (stored_number + stored_text))
        throw std::runtime_error("the trace has only " + std::to_string(size) + " bytes");
    lttng("destroy bench");
    std::cout << report.rows().dump(1) << "\n";
}
