// SPDX-License-Identifier: GPL-2.0-only
// Every system call that can write a record, in one part or several: the payload is recorded whole.
#include "catch.hpp"
#include "io_uring.hpp"
#include "mapping.hpp"
#include "perf.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <sys/uio.h>

using namespace selftest;

namespace {

constexpr std::size_t index_size = sizeof(std::uint32_t);

/// perf's limit is 8192 bytes: 4 bytes of its own, 8 bytes of common fields, and the payload.
constexpr std::size_t largest = 8192 - 4 - 8;

using Parts = std::vector<iovec>;

/// Splits memory into parts of these sizes and one more for the rest.
Parts split(std::byte* at, std::size_t size, const std::vector<std::size_t>& sizes) {
    Parts parts;
    for (std::size_t wanted : sizes) {
        const std::size_t length = std::min(wanted, size);
        parts.push_back({at, length});
        at += length;
        size -= length;
    }
    parts.push_back({at, size});
    return parts;
}

/// The sizes of all parts but the last.
const std::vector<std::vector<std::size_t>> splits = {
    {},
    {4},
    {4, 0},
    {0, 4},
    {0, 0, 4, 0, 0},
    {4, 1},
    {4, 1, 2},
    {4, 0, 5, 0, 100, 0},
    {4, 1000, 24, 1},
    {2, 2},
    {2, 0, 2, 8},
    {1, 1, 1, 1, 1, 1},
    {3, 2},
    {5},
    {100},
    {1028, 7},
    // 102 parts.
    [] {
        std::vector<std::size_t> sizes(101, 3);
        sizes[0] = 4;
        return sizes;
    }(),
};

using WriteCall = std::function<Outcome(int file, std::byte* data, std::size_t size)>;

/// An event that only perf records, whose limit is twice that of ftrace. There is a perf event for
/// each CPU, because io_uring may write from another thread.
struct Recorded {
    Recorded() : event(unique_name("shape")), index(file.must_register(&word, 0, event.name())) {
        for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++)
            perf.emplace_back(perf_sampling(event), -1, cpu);
    }

    std::vector<PerfSample> samples() {
        std::vector<PerfSample> all;
        for (PerfEvent& on_cpu : perf)
            std::ranges::move(on_cpu.samples(), std::back_inserter(all));
        return all;
    }

    Word word{0};
    DataFile file;
    const Event event;
    const std::uint32_t index;
    std::deque<PerfEvent> perf;
};

/// A payload that differs for each size and in which adjacent bytes differ.
Bytes payload_of(std::size_t size) {
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; i++)
        bytes[i] = static_cast<std::byte>(size + i * 7 + (i >> 8));
    return bytes;
}

/// Whether perf has one sample with this payload, padded with zeros.
bool is_sample(const std::vector<PerfSample>& samples, const Bytes& payload) {
    if (samples.size() != 1)
        return false;
    const Bytes& got = samples[0].payload;
    return got.size() >= payload.size() && got.size() - payload.size() < 8 &&
           std::equal(payload.begin(), payload.end(), got.begin()) &&
           std::all_of(got.begin() + static_cast<std::ptrdiff_t>(payload.size()), got.end(),
                       [](std::byte byte) { return byte == std::byte{0}; });
}

constexpr auto sizes = {0ul,    1ul,    3ul,    4ul,    5ul,    7ul,    8ul,    31ul,   32ul,
                        33ul,   39ul,   255ul,  256ul,  257ul,  1023ul, 1024ul, 1025ul, 1031ul,
                        4063ul, 4064ul, 4065ul, 8171ul, 8176ul, 8177ul, 8178ul, largest};

/// Writes records of all sizes from `memory`.
void check_call(const WriteCall& call, const Mapping& memory) {
    Recorded recorded;
    const auto write = [&](std::size_t size) {
        const Bytes bytes = Payload().add(recorded.index).add_bytes(payload_of(size)).bytes();
        // The record ends where the mapping ends, so that reading beyond it is likely to fault.
        std::byte* data = memory.at(memory.size() - bytes.size());
        std::copy(bytes.begin(), bytes.end(), data);
        return call(recorded.file.descriptor(), data, bytes.size());
    };
    for (std::size_t size : sizes) {
        CAPTURE(size);
        CHECK(write(size) == succeeds(static_cast<long>(index_size + size)));
        CHECK(is_sample(recorded.samples(), payload_of(size)));
    }
    for (std::size_t size : {largest + 1, 8192ul, 8193ul, 16000ul}) {
        CAPTURE(size);
        CHECK(write(size) == fails(E2BIG));
        CHECK(recorded.samples().empty());
    }
}

} // namespace

TEST_CASE("perf records up to 8180 bytes written in one part; a larger payload fails with E2BIG") {
    const Mapping memory(5);
    SECTION("write") {
        check_call(
            [](int file, auto data, auto size) { return Outcome::of(::write(file, data, size)); },
            memory);
    }
    SECTION("pwrite, which ignores the position") {
        check_call([](int file, auto data,
                      auto size) { return Outcome::of(::pwrite(file, data, size, 4711)); },
                   memory);
    }
    SECTION("io_uring") {
        IoUring ring;
        check_call([&](int file, auto data, auto size) { return ring.write(file, data, size); },
                   memory);
    }
    SECTION("io_uring, from a registered buffer") {
        IoUring ring;
        ring.register_memory(memory);
        check_call(
            [&](int file, auto data, auto size) { return ring.write_fixed(file, data, size); },
            memory);
    }
}

TEST_CASE(
    "perf records up to 8180 bytes written in several parts; a larger payload fails with E2BIG") {
    const Mapping memory(5);
    IoUring ring;
    for (const auto& sizes_of_parts : splits) {
        CAPTURE(sizes_of_parts);
        check_call(
            [&](int file, auto data, auto size) {
                const Parts parts = split(data, size, sizes_of_parts);
                return Outcome::of(writev(file, parts.data(), static_cast<int>(parts.size())));
            },
            memory);
        check_call(
            [&](int file, auto data, auto size) {
                const Parts parts = split(data, size, sizes_of_parts);
                return Outcome::of(
                    pwritev2(file, parts.data(), static_cast<int>(parts.size()), -1, RWF_APPEND));
            },
            memory);
        check_call(
            [&](int file, auto data, auto size) {
                const Parts parts = split(data, size, sizes_of_parts);
                return ring.writev(file, parts.data(), static_cast<unsigned>(parts.size()));
            },
            memory);
    }
}

TEST_CASE("writev with an unreadable part fails with EFAULT, unless that part is empty") {
    Recorded recorded;
    IoUring ring;
    Mapping good(2), bad(1, PROT_NONE);
    const std::size_t size = GENERATE(4, 300, 1500, 4060);
    const std::size_t position = GENERATE(0, 1, 2, 3, 4);
    CAPTURE(size, position);
    *good.at<std::uint32_t>() = recorded.index;
    Parts parts = {{good.at(), index_size}};
    for (int part = 0; part < 3; part++)
        parts.push_back({good.at(index_size), size / 3});
    const auto write = [&] {
        return Outcome::of(
            writev(recorded.file.descriptor(), parts.data(), static_cast<int>(parts.size())));
    };
    const auto write_by_ring = [&] {
        return ring.writev(recorded.file.descriptor(), parts.data(),
                           static_cast<unsigned>(parts.size()));
    };
    const auto at = parts.begin() + static_cast<std::ptrdiff_t>(position);
    const auto whole = static_cast<long>(index_size + 3 * (size / 3));

    const auto added = parts.insert(at, {bad.at(), 0});
    CHECK(write() == succeeds(whole));
    CHECK(recorded.samples().size() == 1);
    CHECK(write_by_ring() == succeeds(whole));
    CHECK(recorded.samples().size() == 1);
    added->iov_len = 1;
    CHECK(write() == fails(EFAULT));
    CHECK(write_by_ring() == fails(EFAULT));
    CHECK(recorded.samples().empty());
}

TEST_CASE("splice() from a pipe to user_events_data fails with EINVAL") {
    Recorded recorded;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const Descriptor reads(ends[0]), writes(ends[1]);
    REQUIRE(::write(writes.number(), &recorded.index, index_size) == index_size);
    CHECK(Outcome::of(splice(reads.number(), nullptr, recorded.file.descriptor(), nullptr,
                             index_size, 0)) == fails(EINVAL));
    CHECK(recorded.samples().empty());
}
