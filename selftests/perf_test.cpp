// SPDX-License-Identifier: GPL-2.0-only
// perf events on user events: counts, samples, filters, call chains, and payloads too large for it.
#include "catch.hpp"
#include "limited.hpp"
#include "perf.hpp"
#include "processor.hpp"
#include "program.hpp"
#include "registered.hpp"
#include "rule.hpp"

#include "as_user.hpp"
#include "child.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "setting.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <list>
#include <optional>
#include <set>
#include <sys/syscall.h>
#include <thread>

using namespace selftest;

namespace {

/// Compares payloads. perf pads a sampled one with zeros to a multiple of eight bytes, less four.
bool is_payload(const Bytes& sampled, const Bytes& written) {
    return sampled.size() >= written.size() && sampled.size() - written.size() < 8 &&
           std::equal(written.begin(), written.end(), sampled.begin()) &&
           std::all_of(sampled.begin() + static_cast<std::ptrdiff_t>(written.size()), sampled.end(),
                       [](std::byte byte) { return byte == std::byte{0}; });
}

/// The base of the program or library that contains an address, or nullptr.
const void* object_of(const void* address) {
    Dl_info info;
    return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

/// Calls write() without the C library. Reading the frame address forces a frame pointer, which
/// call graphs need.
[[gnu::noinline]] long write_here(int file, const Bytes& bytes) {
    asm volatile("" : : "r"(__builtin_frame_address(0)));
    return write_inline(file, bytes.data(), bytes.size());
}

[[gnu::noinline]] long call_write_here(int file, const Bytes& bytes) {
    asm volatile("" : : "r"(__builtin_frame_address(0)));
    const long result = write_here(file, bytes);
    // Prevents a tail call.
    asm volatile("" : : : "memory");
    return result;
}

/// Whether an address is in the code of one of the two functions above.
bool is_in(std::uint64_t address, long (*function)(int, const Bytes&)) {
    const auto start = reinterpret_cast<std::uint64_t>(function);
    return address > start && address < start + 64;
}

} // namespace

TEST_CASE("An open perf event sets the bit and is listed in user_events_status") {
    Registered registered(" u32 a");
    CHECK(registered.record(Payload().add(1u)) == fails(EBADF));
    for (int round = 0; round < 3; round++) {
        PerfEvent perf(perf_attributes(registered.event));
        CHECK(registered.word == 1);
        CHECK(registered.status() == " # Used by perf");
        CHECK(registered.record(Payload().add(1u)) == succeeds(8));
        perf.close();
        CHECK(registered.word == 0);
        CHECK(registered.status().empty());
    }
    CHECK(registered.record(Payload().add(1u)) == fails(EBADF));
}

TEST_CASE("A user without CAP_PERFMON counts no event unless perf_event_paranoid is -1") {
    Setting paranoid("/proc/sys/kernel/perf_event_paranoid");
    Registered registered("");
    const auto error_as_user = [&](const char* level) {
        paranoid.set(level);
        perf_event_attr attributes = perf_attributes(registered.event);
        attributes.exclude_kernel = 1;
        const AsUser as(unprivileged_uid);
        const Outcome opened = Outcome::of(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
        if (opened.ok())
            close(static_cast<int>(opened.value()));
        return opened.error();
    };
    for (const char* level : {"2", "1", "0"}) {
        CAPTURE(level);
        CHECK(error_as_user(level) == EPERM);
        CHECK(registered.word == 0);
    }
    CHECK(error_as_user("-1") == 0);
    // A child inherits what root has opened.
    paranoid.set("2");
    perf_event_attr attributes = perf_attributes(registered.event);
    attributes.inherit = 1;
    const PerfEvent perf(attributes);
    CHECK(in_child([&] {
              become_user(unprivileged_uid);
              return in_child([&] { return registered.record().ok() ? 0 : 1; });
          }) == 0);
    CHECK(perf.count() == 1);
}

TEST_CASE("user_events_status lists ftrace and perf separately") {
    Registered registered(" u32 a");
    PerfEvent perf(perf_attributes(registered.event));
    {
        const Enabled enabled{registered.event};
        CHECK(registered.status() == " # Used by ftrace perf");
    }
    CHECK(registered.status() == " # Used by perf");
    CHECK(registered.word == 1);
    const Enabled enabled{registered.event};
    perf.close();
    CHECK(registered.status() == " # Used by ftrace");
    CHECK(registered.word == 1);
}

TEST_CASE("perf counts the records of one task, not of its child or other threads") {
    Registered registered(" u32 a");
    PerfEvent perf(perf_attributes(registered.event));
    const auto record = [&] { return registered.record(Payload().add(1u)) == succeeds(8); };
    for (int i = 0; i < 100; i++)
        REQUIRE(record());
    CHECK(perf.count() == 100);
    CHECK(in_child([&] { return record() ? 0 : 1; }) == 0);
    bool recorded = false;
    std::thread([&] { recorded = record(); }).join();
    CHECK(recorded);
    CHECK(perf.count() == 100);

    REQUIRE(perf.disable() == succeeds());
    CHECK(record());
    CHECK(perf.count() == 100);
    REQUIRE(perf.enable() == succeeds());
    CHECK(record());
    CHECK(perf.count() == 101);
}

TEST_CASE("A perf event with inherit counts the records of children and threads") {
    Registered registered(" u32 a");
    perf_event_attr attributes = perf_attributes(registered.event);
    attributes.inherit = 1;
    PerfEvent perf(attributes);
    const auto record = [&] { return registered.record(Payload().add(1u)) == succeeds(8); };
    CHECK(record());
    CHECK(in_child([&] {
              return record() && in_child([&] { return record() ? 0 : 1; }) == 0 ? 0 : 1;
          }) == 0);
    bool recorded = false;
    std::thread([&] { recorded = record(); }).join();
    CHECK(recorded);
    CHECK(perf.count() == 4);
}

TEST_CASE("A perf event of a CPU counts the records of all tasks on that CPU") {
    if (std::thread::hardware_concurrency() < 2) {
        WARN("one CPU");
        return;
    }
    Registered registered(" u32 a");
    PerfEvent first(perf_attributes(registered.event), -1, 0);
    PerfEvent second(perf_attributes(registered.event), -1, 1);
    const auto record_on = [&](int cpu, int times) {
        const OnCpu on_cpu(cpu);
        bool good = true;
        for (int i = 0; i < times; i++)
            good &= registered.record(Payload().add(1u)) == succeeds(8);
        return good;
    };
    CHECK(record_on(0, 3));
    CHECK(record_on(1, 5));
    CHECK(in_child([&] { return record_on(1, 2) ? 0 : 1; }) == 0);
    CHECK(first.count() == 3);
    CHECK(second.count() == 7);
}

TEST_CASE("A perf sample holds the written payload, the event's type and the writer's ids") {
    Registered registered(" u32 a");
    PerfEvent perf(perf_sampling(registered.event, PERF_SAMPLE_TID));
    std::size_t wrong = 0;
    for (std::size_t size : {4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 100, 1001, 4000, 5000, 8000}) {
        CAPTURE(size);
        Payload payload;
        payload.add(static_cast<std::uint32_t>(size));
        while (payload.size() < size)
            payload.add(static_cast<std::uint8_t>(payload.size() * 7 + 1));
        REQUIRE(registered.record(payload) == succeeds(static_cast<long>(size) + 4));
        const auto samples = perf.samples();
        REQUIRE(samples.size() == 1);
        wrong += !is_payload(samples[0].payload, payload.bytes());
        wrong += samples[0].type != registered.event.id();
        wrong += samples[0].pid != static_cast<std::uint32_t>(getpid());
        wrong += samples[0].tid != static_cast<std::uint32_t>(gettid());
    }
    CHECK(wrong == 0);
}

TEST_CASE("Several perf events and ftrace record the same payload") {
    Registered registered(" u32 a; __rel_loc char[] text");
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    PerfEvent first(perf_sampling(registered.event)), second(perf_sampling(registered.event));
    std::vector<Payload> payloads;
    for (std::uint32_t i = 0; i < 20; i++) {
        const std::string text(i, 'x');
        payloads.push_back(Payload().add(i).add(location(0, i + 1)).add_string(text));
        CHECK(registered.record(payloads.back()).ok());
    }
    const auto records = instance.records();
    REQUIRE(records.size() == payloads.size());
    for (PerfEvent* perf : {&first, &second}) {
        const auto samples = perf->samples();
        REQUIRE(samples.size() == payloads.size());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < samples.size(); i++)
            wrong += !is_payload(samples[i].payload, payloads[i].bytes());
        CHECK(wrong == 0);
    }
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < records.size(); i++)
        wrong += records[i].text("text") != std::string(i, 'x');
    CHECK(wrong == 0);

    // Closing one perf event does not affect the other.
    first.close();
    CHECK(registered.record(payloads[3]).ok());
    CHECK(second.samples().size() == 1);
    REQUIRE(instance.disable(registered.event) == succeeds());
    CHECK(registered.word == 1);
    second.close();
    CHECK(registered.word == 0);
}

TEST_CASE("Each perf event applies its own filter") {
    Registered registered(" s32 a; char[8] array; __rel_loc char[] near");
    PerfEvent all(perf_attributes(registered.event)), some(perf_attributes(registered.event)),
        named(perf_attributes(registered.event)), located(perf_attributes(registered.event));
    REQUIRE(some.set_filter("a > -2 && a != 3") == succeeds());
    REQUIRE(named.set_filter("array == \"four\"") == succeeds());
    REQUIRE(located.set_filter("near ~ \"ne*\"") == succeeds());
    const auto record = [&](std::int32_t a, const std::string& array, const std::string& near) {
        const auto size = static_cast<std::uint32_t>(near.size() + 1);
        CHECK(registered
                  .record(Payload()
                              .add(a)
                              .add_characters((array + std::string(8, '\0')).substr(0, 8))
                              .add(location(0, size))
                              .add_string(near))
                  .ok());
    };
    record(-5, "four", "near");
    record(-1, "five", "far");
    record(3, "four", "next");
    record(4, "four", "other");
    CHECK(all.count() == 4);
    CHECK(some.count() == 2);
    CHECK(named.count() == 3);
    CHECK(located.count() == 2);
    CHECK(registered.status() == " # Used by perf");

    CHECK(all.set_filter("missing == 1") == fails(EINVAL));
    CHECK(all.set_filter("a == \"text\"") == fails(EINVAL));
}

TEST_CASE("A perf call chain has only user frames and starts in the library that called write()") {
    Registered registered(" u32 a");
    perf_event_attr attributes = perf_sampling(registered.event, PERF_SAMPLE_CALLCHAIN);
    attributes.exclude_callchain_kernel = GENERATE(0, 1);
    CAPTURE(attributes.exclude_callchain_kernel);
    PerfEvent perf(attributes);
    REQUIRE(registered.record(Payload().add(1u)) == succeeds(8));
    const auto samples = perf.samples();
    REQUIRE(samples.size() == 1);
    const auto& chain = samples[0].callchain;
    const auto user = std::ranges::find(chain, static_cast<std::uint64_t>(PERF_CONTEXT_USER));
    CHECK(std::ranges::count(chain, static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL)) == 0);
    REQUIRE(user != chain.end());
    REQUIRE(user + 1 != chain.end());
    // write() makes the system call.
    const auto* first = reinterpret_cast<const void*>(*(user + 1));
    REQUIRE(object_of(first) != nullptr);
    CHECK(object_of(first) == object_of(reinterpret_cast<const void*>(&write)));
}

TEST_CASE("A perf call chain lists the function with the system call, then its caller") {
    Registered registered(" u32 a");
    PerfEvent perf(perf_sampling(registered.event, PERF_SAMPLE_CALLCHAIN));
    const Bytes bytes = Payload().add(registered.index).add(1u).bytes();
    REQUIRE(call_write_here(registered.file.descriptor(), bytes) == 8);
    const auto samples = perf.samples();
    REQUIRE(samples.size() == 1);
    const auto& chain = samples[0].callchain;
    REQUIRE(chain.size() >= 4);
    CHECK(chain[0] == static_cast<std::uint64_t>(PERF_CONTEXT_USER));
    CHECK(is_in(chain[1], write_here));
    CHECK(is_in(chain[2], call_write_here));
}

TEST_CASE("perf events with inherit, one per CPU, sample a task with its children and threads") {
    Registered registered(" u32 a");
    perf_event_attr attributes = perf_sampling(registered.event, PERF_SAMPLE_TID);
    attributes.inherit = 1;
    std::list<PerfEvent> cpus;
    for (int cpu : {0, 1})
        cpus.emplace_back(attributes, 0, cpu);
    const auto record = [&](std::uint32_t a) {
        const OnCpu on_cpu(static_cast<int>(a % 2));
        return registered.record(Payload().add(a)) == succeeds(8);
    };
    const auto in_grandchild = [&] { return in_child([&] { return record(3) ? 0 : 1; }); };
    CHECK(record(0));
    CHECK(record(1));
    CHECK(in_child([&] { return record(2) && in_grandchild() == 0 ? 0 : 1; }) == 0);
    bool recorded = false;
    std::thread([&] { recorded = record(5); }).join();
    CHECK(recorded);

    std::vector<std::uint32_t> values;
    std::set<std::uint32_t> pids, tids;
    for (PerfEvent& perf : cpus)
        for (const PerfSample& sample : perf.samples()) {
            std::uint32_t a = 0;
            std::memcpy(&a, sample.payload.data(), sizeof(a));
            values.push_back(a);
            pids.insert(sample.pid);
            tids.insert(sample.tid);
        }
    CHECK(values == std::vector<std::uint32_t>{0, 2, 1, 3, 5});
    CHECK(pids.size() == 3);
    CHECK(tids.size() == 4);
}

TEST_CASE("Writing a payload that is too large for perf, the only recorder, fails with E2BIG") {
    Registered registered(" u32 a");
    PerfEvent perf(perf_sampling(registered.event));
    const auto record = [&](std::size_t size) {
        return registered.record(Payload().add(1u).add_characters(std::string(size - 4, 'x')));
    };
    // 8 KiB less perf's 4 bytes and the 8 bytes of common fields.
    constexpr std::size_t largest = 8192 - 12;
    for (std::size_t size = largest - 8; size <= largest; size++) {
        CAPTURE(size);
        CHECK(record(size) == succeeds(static_cast<long>(size) + 4));
        CHECK(perf.samples().size() == 1);
    }
    for (std::size_t size : {largest + 1, largest + 8, 8192ul, 8193ul, 9000ul, 65536ul}) {
        CAPTURE(size);
        CHECK(record(size) == fails(E2BIG));
        CHECK(perf.samples().empty());
    }
    CHECK(perf.count() == 9);
    CHECK(registered.status() == " # Used by perf");

    // The size is judged before the payload is read.
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);
    std::byte* const data = memory.at(page_size - 4);
    *memory.at<std::uint32_t>(page_size - 4) = registered.index;
    CHECK(registered.file.write(data, 4 + largest) == fails(EFAULT));
    CHECK(registered.file.write(data, 4 + largest + 1) == fails(E2BIG));
}

TEST_CASE(
    "A payload that is too large for perf fails with E2BIG even if perf samples another task") {
    Registered registered(" u32 a");
    Child child([](Channel& channel) { return channel.receive<bool>() ? 0 : 1; });
    PerfEvent perf(perf_sampling(registered.event), child.pid(), -1);
    CHECK(registered.record(Payload().add(1u).add_bytes(Bytes(8176))) == succeeds(4 + 8180));
    CHECK(registered.record(Payload().add(1u).add_bytes(Bytes(8177))) == fails(E2BIG));
    CHECK(perf.samples().empty());
    child.channel().send(true);
    CHECK(child.wait() == 0);
}

TEST_CASE("A payload too large for ftrace but not for perf is sampled, and counted as lost") {
    Registered registered(" u32 a");
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    PerfEvent perf(perf_sampling(registered.event));
    const auto record = [&](std::size_t size) {
        return registered.record(Payload().add(1u).add_characters(std::string(size - 4, 'x')));
    };
    CHECK(record(100) == succeeds(104));
    CHECK(registered.status() == " # Used by ftrace perf");
    CHECK(instance.records().size() == 1);
    CHECK(perf.samples().size() == 1);

    CHECK(record(6000) == succeeds(6004));
    CHECK(registered.status() == " # Used by ftrace perf; lost 1");
    CHECK(instance.records().empty());
    const auto samples = perf.samples();
    REQUIRE(samples.size() == 1);
    CHECK(is_payload(samples[0].payload,
                     Payload().add(1u).add_characters(std::string(5996, 'x')).bytes()));

    // Neither can hold this one: the write fails, and nothing is lost.
    CHECK(record(9000) == fails(E2BIG));
    CHECK(registered.status() == " # Used by ftrace perf; lost 1");
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("perf samples up to 8180 bytes also where a trigger of ftrace has a condition") {
    Registered registered(" u32 a");
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    const std::string trigger = instance.path(registered.event, "trigger");
    REQUIRE(write_text(trigger, "traceoff if a == 5").ok());
    PerfEvent perf(perf_sampling(registered.event));
    // The kernel learns only while it records that ftrace cannot hold the record.
    CHECK(registered.record(Payload().add(1u).add_bytes(Bytes(8176))) == succeeds(4 + 8180));
    CHECK(perf.samples().size() == 1);
    CHECK(registered.status() == " # Used by ftrace perf; lost 1");
    CHECK(registered.record(Payload().add(1u).add_bytes(Bytes(8177))) == fails(E2BIG));
    CHECK(perf.samples().empty());
    CHECK(registered.status() == " # Used by ftrace perf; lost 1");
    REQUIRE(write_text(trigger, "!traceoff if a == 5", O_APPEND).ok());
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("Samples for which perf's ring buffer has no space do not count as lost") {
    Registered registered("");
    PerfEvent perf(perf_sampling(registered.event));
    const auto record = [&] { return registered.record(Payload().add_bytes(Bytes(8000))); };
    // The ring buffer has 64 pages.
    const std::size_t records = 64 * page_size / 8000 + 20;
    for (std::size_t i = 0; i < records; i++)
        REQUIRE(record() == succeeds(8004));
    std::uint64_t lost = 0;
    const std::size_t taken = perf.samples(&lost).size();
    // perf reports what it has lost before the next sample.
    REQUIRE(record() == succeeds(8004));
    CHECK(perf.samples(&lost).size() == 1);
    CHECK(lost > 0);
    CHECK(taken + lost == records);
    CHECK(registered.status() == " # Used by perf");
}

TEST_CASE("Killing a task that has a perf event open clears the bit") {
    Registered registered(" u32 a");
    Child child([&](Channel& channel) {
        channel.receive<bool>();
        const PerfEvent perf(perf_attributes(registered.event), -1, 0);
        channel.send(true);
        return channel.receive<bool>() ? 0 : 1;
    });
    // The killed task must clear the bit without waiting for a page to be copied.
    unshare_page(registered.word);
    child.channel().send(true);
    CHECK(child.channel().receive<bool>());
    CHECK(registered.word == 1);
    child.kill();
    CHECK(registered.word == 0);
    CHECK(registered.status().empty());
}

namespace {

/// Floods an event with a limit. The program has two words of it. If it blocks, each access to the
/// second word waits for ever. Sends a value when it has exceeded the limit for some time.
int flood(Channel& channel, const Event& event, bool blocks) {
    const Mapping first(1), second(1);
    DataFile file;
    const auto index = file.must_register(first.at(), 0, event.name());
    file.must_register(second.at(), 0, event.name());
    std::optional<Userfault> fault;
    if (blocks)
        fault.emplace(second);
    using Clock = std::chrono::steady_clock;
    for (const auto end = Clock::now() + std::chrono::milliseconds(50); Clock::now() < end;)
        file.record(index);
    for (channel.send(true);;)
        file.record(index);
}

/// How many seconds it takes to open and to close several perf events of all tasks for an event,
/// each while another program floods an event.
struct PerfTimes {
    PerfTimes(const Event& event, const Event& flooded, bool blocks) {
        std::list<PerfEvent> perf;
        const auto while_flooded = [&](const auto& action) {
            Child child([&](Channel& channel) {
                // So that the test closes the last descriptor of each.
                perf.clear();
                return flood(channel, flooded, blocks);
            });
            child.channel().receive<bool>();
            const auto start = std::chrono::steady_clock::now();
            action();
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        for (int i = 0; i < 16; i++)
            open += while_flooded([&] { perf.emplace_back(perf_attributes(event), -1, 0); });
        while (!perf.empty())
            close += while_flooded([&] { perf.pop_back(); });
    }

    double open = 0, close = 0;
};

} // namespace

TEST_CASE("Opening and closing perf events does not wait for an unrelated program that blocks") {
    const Kept unrelated, flooded;
    Instance instance;
    const Rule rule(rule_text(flooded.event, instance, "limit=100/s/program"));
    const PerfTimes quiet(unrelated.event, flooded.event, false);
    const PerfTimes blocked(unrelated.event, flooded.event, true);
    CAPTURE(quiet.open, quiet.close, blocked.open, blocked.close);
    CHECK(blocked.open < 3 * quiet.open + 0.5);
    CHECK(blocked.close < 3 * quiet.close + 0.5);
}
