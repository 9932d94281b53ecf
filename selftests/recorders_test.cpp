// SPDX-License-Identifier: GPL-2.0-only
// One payload, many recorders: the kernel reads the payload once, also if the program changes it at
// the same time, and recorders may attach and detach during the write.
#include "bpf.hpp"
#include "catch.hpp"
#include "perf.hpp"
#include "processor.hpp"
#include "recorders.hpp"
#include "registered.hpp"

#include "deadline.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fcntl.h>
#include <future>
#include <linux/userfaultfd.h>
#include <memory>
#include <poll.h>
#include <set>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/syscall.h>

using namespace selftest;

namespace {

/// Two pages of memory. Reads of the second one block until supply().
class BlockingPage {
public:
    BlockingPage() : faults_(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC))) {
        if (faults_.number() < 0)
            throw_errno("userfaultfd");
        uffdio_api api{};
        api.api = UFFD_API;
        uffdio_register range{};
        range.range = {address_of(second()), page_size};
        range.mode = UFFDIO_REGISTER_MODE_MISSING;
        if (ioctl(faults_.number(), UFFDIO_API, &api) != 0 ||
            ioctl(faults_.number(), UFFDIO_REGISTER, &range) != 0)
            throw_errno("UFFDIO_REGISTER");
    }

    std::byte* second() const { return memory_.at(page_size); }

    /// Waits until a read of the second page blocks.
    void await_reader() const {
        pollfd waiting{faults_.number(), POLLIN, 0};
        uffd_msg message;
        if (poll(&waiting, 1, static_cast<int>(std::chrono::milliseconds(wait_limit).count())) !=
                1 ||
            read(faults_.number(), &message, sizeof(message)) != sizeof(message))
            throw std::runtime_error("the second page is not read");
    }

    void supply(const Bytes& start) const {
        const Mapping page(1);
        std::ranges::copy(start, page.at());
        uffdio_copy copy{};
        copy.dst = address_of(second());
        copy.src = address_of(page.at());
        copy.len = page_size;
        if (ioctl(faults_.number(), UFFDIO_COPY, &copy) != 0)
            throw_errno("UFFDIO_COPY");
    }

private:
    Mapping memory_{2};
    Descriptor faults_;
};

/// Writes a record whose last `blocked` bytes the kernel has to wait for. During the wait, another
/// thread calls `body` with the part of the payload that the kernel has already read. That part
/// must consist of whole words: the kernel rereads a word that crosses into the next page.
template <typename Body>
Outcome write_around(Registered& registered, const Payload& payload, std::size_t blocked,
                     Body&& body) {
    const BlockingPage memory;
    const auto middle = payload.bytes().end() - static_cast<std::ptrdiff_t>(blocked);
    std::byte* start = memory.second() - (payload.size() - blocked);
    std::copy(payload.bytes().begin(), middle, start);
    std::byte* index = start - sizeof(registered.index);
    std::memcpy(index, &registered.index, sizeof(registered.index));
    auto during_wait = std::async(std::launch::async, [&] {
        memory.await_reader();
        std::exception_ptr failed;
        try {
            body(start);
        } catch (...) {
            failed = std::current_exception();
        }
        memory.supply(Bytes(middle, payload.bytes().end()));
        if (failed)
            std::rethrow_exception(failed);
    });
    const Outcome outcome = registered.file.write(index, sizeof(registered.index) + payload.size());
    during_wait.get();
    return outcome;
}

/// Compares a recorded payload, without its padding, with the written one.
bool begins_with(const Bytes& recorded, const Bytes& written) {
    return recorded.size() >= written.size() && recorded.size() - written.size() < 8 &&
           std::equal(written.begin(), written.end(), recorded.begin());
}

const Payload opposites = Payload().add(std::int64_t{7}).add(std::int64_t{-7});

} // namespace

TEST_CASE("All recorders and filters see the same bytes, even if the program changes its payload") {
    Registered registered(" u32 value; __rel_loc char[] text; u32 last");
    const Format format(registered.event);
    // The kernel copies small payloads to the stack and large ones to the heap.
    const std::size_t tail = GENERATE(4, 2004), blocked = tail / 2 + 2;
    CAPTURE(tail);
    const auto content = [&](std::uint32_t value, std::uint32_t offset, const char* text) {
        return Payload()
            .add(value)
            .add(location(offset, 4))
            .add(~value)
            .add_string(text)
            .add_characters(std::string(tail, text[0]));
    };
    // The location in `changed` is out of bounds: writing it is EFAULT.
    const Payload payload = content(1, 4, "old"), changed = content(2, 40000, "new");
    const std::size_t size = payload.size(), read_first = size - blocked;

    Instance first, second, before, after;
    for (Instance* instance : {&first, &second, &before, &after})
        REQUIRE(instance->enable(registered.event) == succeeds());
    expect(before.set_filter(registered.event, "value == 1 && text == \"old\""), "filter");
    expect(after.set_filter(registered.event, "value == 2 || text == \"new\""), "filter");
    PerfEvent perf(perf_sampling(registered.event)), perf_before(perf_sampling(registered.event)),
        perf_after(perf_sampling(registered.event));
    REQUIRE(perf_before.set_filter("value == 1 && text == \"old\"") == succeeds());
    REQUIRE(perf_after.set_filter("value == 2 || text == \"new\"") == succeeds());
    const TotalsMap map;
    const Program program(map, load_field(format.field("value")));
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());

    CHECK(registered.record(changed) == fails(EFAULT));
    const Outcome written = write_around(registered, payload, blocked, [&](std::byte* start) {
        std::copy_n(changed.bytes().begin(), read_first, start);
    });
    CHECK(written == succeeds(static_cast<long>(size) + 4));

    for (Instance* instance : {&first, &second, &before}) {
        const auto records = instance->records();
        REQUIRE(records.size() == 1);
        CHECK(begins_with(records[0].payload(), payload.bytes()));
    }
    CHECK(after.records().empty());
    for (PerfEvent* event : {&perf, &perf_before}) {
        const auto samples = event->samples();
        REQUIRE(samples.size() == 1);
        CHECK(begins_with(samples[0].payload, payload.bytes()));
    }
    CHECK(perf_after.samples().empty());
    CHECK(map.totals() == Totals{1, 1});
    for (Instance* instance : {&first, &second, &before, &after})
        REQUIRE(instance->disable(registered.event) == succeeds());
}

TEST_CASE("All recorders get the same bytes of a payload that another thread keeps changing") {
    constexpr std::size_t batches = 40, batch = 40, length = 375;
    // Neither ftrace nor perf pads this size.
    struct Large {
        std::uint32_t index, first;
        std::atomic<std::uint64_t> words[length];
    };
    Registered registered(" u32 first");
    const Mapping memory(1);
    auto* large = memory.at<Large>();
    static_assert(sizeof(Large) <= 4096);
    large->index = registered.index;

    Instance first, second;
    for (Instance* instance : {&first, &second})
        REQUIRE(instance->enable(registered.event) == succeeds());
    PerfEvent perf(perf_sampling(registered.event));
    std::jthread changer([&](const std::stop_token& stop) {
        const OnCpu other_cpu(1);
        // An emulator that runs one CPU at a time switches to the next one at a pause instruction.
        for (std::uint64_t value = 1; !stop.stop_requested(); value++)
            for (std::size_t i = 0; i < length; i++) {
                large->words[i].store(value, std::memory_order_relaxed);
                if (i % 50 == value % 50)
                    pause_processor();
            }
    });

    const OnCpu on_cpu(0);

    std::size_t different = 0, mixed = 0, failures = 0;
    std::set<Bytes> contents;
    for (std::size_t i = 0; i < batches; i++) {
        for (std::size_t j = 0; j < batch; j++) {
            pause_processor();
            failures += !registered.file.write(large, sizeof(*large)).ok();
        }
        const auto one = first.records(), other = second.records();
        const auto samples = perf.samples();
        REQUIRE(one.size() == batch);
        REQUIRE(other.size() == batch);
        REQUIRE(samples.size() == batch);
        for (std::size_t j = 0; j < batch; j++) {
            const Bytes bytes = one[j].payload();
            different += other[j].payload() != bytes || samples[j].payload != bytes;
            std::uint64_t values[length];
            REQUIRE(bytes.size() == sizeof(values) + 4);
            std::memcpy(values, bytes.data() + 4, sizeof(values));
            mixed += values[0] != values[length - 1];
            contents.insert(bytes);
        }
    }
    CHECK(failures == 0);
    CHECK(different == 0);
    // The payload changed between the writes, and during some of them.
    CHECK(contents.size() > batches * batch / 2);
    CHECK(mixed > batches);
    for (Instance* instance : {&first, &second})
        REQUIRE(instance->disable(registered.event) == succeeds());
}

TEST_CASE("A recorder that is removed during a write does not get the record; the others do",
          "[long]") {
    const RecorderKind& kind = GENERATE(from_range(recorder_kinds));
    CAPTURE(kind.name);
    Registered registered(fields_of_recorders);
    auto detaching = kind.attach(registered.event, getpid());
    CHECK(registered.word == 1);

    SECTION("it was the only recorder, so the write fails with EBADF") {
        const Outcome written = write_around(registered, opposites, 8, [&](std::byte*) {
            detaching.reset();
            CHECK(registered.word == 0);
        });
        CHECK(written == fails(EBADF));
    }
    SECTION("there are other recorders of all kinds") {
        std::vector<std::unique_ptr<Recorder>> others;
        for (const RecorderKind& other : recorder_kinds)
            others.push_back(other.attach(registered.event, getpid()));
        const Outcome written = write_around(registered, opposites, 8, [&](std::byte*) {
            detaching.reset();
            CHECK(registered.word == 1);
        });
        CHECK(written == succeeds(20));
        for (const auto& other : others)
            CHECK(other->take().count == 1);
    }
    CHECK(registered.word == 0);
    CHECK(registered.status().empty());
    CHECK(registered.record(opposites) == fails(EBADF));
}

TEST_CASE("A recorder that is added during a write gets the record") {
    const RecorderKind& kind = GENERATE(from_range(recorder_kinds));
    CAPTURE(kind.name);
    Registered registered(fields_of_recorders);
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    std::unique_ptr<Recorder> attached;
    const Outcome written = write_around(registered, opposites, 8, [&](std::byte*) {
        attached = kind.attach(registered.event, getpid());
        CHECK(instance.disable(registered.event) == succeeds());
        CHECK(registered.word == 1);
    });
    CHECK(written == succeeds(20));
    CHECK(attached->take().count == 1);
    CHECK(instance.records().empty());
    CHECK(registered.record(opposites) == succeeds(20));
    CHECK(attached->take().count == 1);
}
