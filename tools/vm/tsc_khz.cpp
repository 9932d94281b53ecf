// SPDX-License-Identifier: GPL-2.0-only
/// Prints the frequency of this machine's time stamp counter, in kHz. An emulated
/// counter has the same one. tools/vm/run passes it to guests: on a loaded machine
/// a guest may measure a frequency that is wrong by more than an order of magnitude.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include <x86intrin.h>

namespace {

struct Reading {
    double counter;
    double ns;
};

/// The best of many tries, because the machine may run other programs in between.
Reading read_both() {
    Reading best{};
    std::uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        const std::uint64_t before = __rdtsc();
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const std::uint64_t taken = __rdtsc() - before;
        if (taken >= shortest)
            continue;
        shortest = taken;
        best = {.counter = static_cast<double>(before) + static_cast<double>(taken) / 2,
                .ns = static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec)};
    }
    return best;
}

} // namespace

int main() {
    const Reading start = read_both();
    const timespec pause{.tv_sec = 0, .tv_nsec = 100'000'000};
    nanosleep(&pause, nullptr);
    const Reading end = read_both();
    std::printf("%ld\n", std::lround((end.counter - start.counter) / (end.ns - start.ns) * 1e6));
}
