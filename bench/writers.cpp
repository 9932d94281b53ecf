// SPDX-License-Identifier: GPL-2.0-only
// Writes records at a steady rate from two threads, one on each of two CPUs, for bench/tool.
//
//	writers RATE SECONDS
//
// Writes RATE times SECONDS records. If it cannot write as many a second, it takes longer. It
// prints how many it has written in how many milliseconds.
#include <user_events/event.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sched.h>
#include <thread>

namespace {

namespace ue = user_events;
using Clock = std::chrono::steady_clock;

constexpr unsigned threads = 2;

ue::event<"tool_load", ue::field<"number", std::uint64_t>, ue::field<"item", std::string_view>>
    tool_load;

/// A burst each millisecond.
void write_records(unsigned cpu, std::uint64_t burst, std::uint64_t bursts) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    auto next = Clock::now();
    for (std::uint64_t number = 0; number < burst * bursts;) {
        for (const auto end = number + burst; number < end; number++)
            tool_load(number, "three pieces of cake");
        next += std::chrono::milliseconds(1);
        std::this_thread::sleep_until(next);
    }
}

} // namespace

int main(int argc, char* argv[]) {
    const std::uint64_t rate = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200'000;
    const std::uint64_t seconds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5;
    const std::uint64_t burst = rate / threads / 1000, bursts = seconds * 1000;
    const auto start = Clock::now();
    {
        std::jthread other(write_records, 1U, burst, bursts);
        write_records(0, burst, bursts);
    }
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
    std::cout << threads * burst * bursts << " records in " << took.count() << " ms\n";
    return tool_load.error() ? 1 : 0;
}
