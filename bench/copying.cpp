// SPDX-License-Identifier: GPL-2.0-only
// Measures ways to copy a payload into a ring buffer or a string into a record, on the processor of
// this machine. Under emulation, instructions are counted, but starting a string instruction costs
// nothing there.
#include <user_events/copy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>
#include <x86intrin.h>

namespace {

using Copy = void (*)(char* to, const char* from, std::size_t size);

/// Copies one integer with two instructions. So the compiler uses no vector registers, as in the
/// kernel.
template <typename Integer>
[[gnu::always_inline]] inline void move(char* to, const char* from) {
    Integer value;
    asm volatile("mov %1, %0"
                 : "=r"(value)
                 : "m"(*reinterpret_cast<const Integer*>(from))
                 : "memory");
    asm volatile("mov %1, %0" : "=m"(*reinterpret_cast<Integer*>(to)) : "r"(value) : "memory");
}

/// Copies fewer than eight bytes.
[[gnu::always_inline]] inline void copy_tail(char* to, const char* from, std::size_t size) {
    if (size & 4) {
        move<std::uint32_t>(to, from);
        to += 4;
        from += 4;
    }
    for (size %= 4; size; size--)
        move<std::uint8_t>(to++, from++);
}

[[gnu::noinline]] void nothing(char*, const char*, std::size_t) {
    asm volatile("");
}

/// Word by word.
[[gnu::noinline]] void words(char* to, const char* from, std::size_t size) {
    for (; size >= 8; size -= 8, to += 8, from += 8)
        move<std::uint64_t>(to, from);
    copy_tail(to, from, size);
}

/// Four words at a time; the last four overlap with those before. The kernel's memcpy() is like
/// this if the processor does not have FSRM.
[[gnu::noinline]] void unrolled(char* to, const char* from, std::size_t size) {
    if (size < 32)
        return words(to, from, size);
    const char* const end = from + size;
    char* const to_end = to + size;
    for (; from <= end - 32; from += 32, to += 32) {
        std::uint64_t a, b, c, d;
        asm volatile("mov (%4), %0\n\tmov 8(%4), %1\n\tmov 16(%4), %2\n\tmov 24(%4), %3\n\t"
                     "mov %0, (%5)\n\tmov %1, 8(%5)\n\tmov %2, 16(%5)\n\tmov %3, 24(%5)"
                     : "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d)
                     : "r"(from), "r"(to)
                     : "memory");
    }
    for (std::size_t left = 32; left; left -= 8)
        move<std::uint64_t>(to_end - left, end - left);
}

[[gnu::noinline]] void rep_movsq(char* to, const char* from, std::size_t size) {
    std::size_t count = size / 8;
    asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    copy_tail(to, from, size % 8);
}

/// The kernel's memcpy() if the processor has FSRM.
[[gnu::noinline]] void rep_movsb(char* to, const char* from, std::size_t size) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}

/// Blocks of 16 bytes in vector registers, as the C++ library copies strings. The kernel cannot.
[[gnu::noinline]] void library(char* to, const char* from, std::size_t size) {
    user_events::detail::copy(to, from, size);
}

[[gnu::noinline]] void libc(char* to, const char* from, std::size_t size) {
    std::memcpy(to, from, size);
}

struct Candidate {
    const char* name;
    Copy copy;
};

constexpr Candidate candidates[] = {
    {"words", words},         {"unrolled", unrolled}, {"rep movsq", rep_movsq},
    {"rep movsb", rep_movsb}, {"library", library},   {"libc", libc},
};

constexpr std::size_t sizes[] = {8,   16,  24,  32,  40,  48,  56,  64,  80,   96,   112,  128,
                                 160, 192, 256, 320, 384, 448, 512, 768, 1020, 1024, 2048, 4000};

/// Returns the cycles of one copy, and of its call: the least average of many batches. As in a ring
/// buffer, each copy goes to another place, and all places are in the cache.
double cycles(Copy copy, std::size_t size, std::size_t to_offset, std::size_t from_offset) {
    constexpr int batches = 2000, batch = 64;
    constexpr std::size_t ring = 8192;
    alignas(64) static std::array<char, ring + 4096 + 64> to;
    alignas(64) static std::array<char, 4096 + 64> from;
    const std::size_t step = (size + 8 + 7) / 8 * 8;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < batches; i++) {
        std::size_t at = 0;
        unsigned processor;
        _mm_lfence();
        const std::uint64_t start = __rdtsc();
        _mm_lfence();
        for (int j = 0; j < batch; j++) {
            copy(to.data() + to_offset + at, from.data() + from_offset, size);
            at = at + step < ring ? at + step : 0;
        }
        const std::uint64_t end = __rdtscp(&processor);
        least = std::min(least, end - start);
    }
    return static_cast<double>(least) / batch;
}

/// Returns a line of the first processor in /proc/cpuinfo.
std::string processor(const std::string& label) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(label))
            return line.substr(line.find(": ") + 2);
    return "unknown";
}

void print_table(const char* what, std::size_t to_offset, std::size_t from_offset) {
    fmt::print("\n{:<12}", what);
    for (const Candidate& candidate : candidates)
        fmt::print("{:>11}", candidate.name);
    fmt::print("\n");
    for (std::size_t size : sizes) {
        fmt::print("{:<12}", size);
        const double call = cycles(nothing, size, to_offset, from_offset);
        for (const Candidate& candidate : candidates)
            fmt::print("{:>11.0f}", cycles(candidate.copy, size, to_offset, from_offset) - call);
        fmt::print("\n");
    }
}

} // namespace

int main() {
    const std::string flags = " " + processor("flags") + " ";
    fmt::print("{}\n", processor("model name"));
    for (const char* flag : {"erms", "fsrm"})
        fmt::print("{}: {}\n", flag,
                   flags.find(std::string(" ") + flag + " ") != std::string::npos ? "yes" : "no");
    fmt::print("Cycles of the time stamp counter for a copy of so many bytes:\n");
    print_table("aligned", 0, 0);
    print_table("from 4", 0, 4);
    print_table("from 4 to 4", 4, 4);
}
