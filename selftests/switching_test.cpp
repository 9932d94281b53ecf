// SPDX-License-Identifier: GPL-2.0-only
// Recorders attach and detach, are stopped and killed while four threads write. No record is torn,
// duplicated or out of order, and a recorder that stays attached gets every record.
#include "bpf.hpp"
#include "catch.hpp"
#include "perf.hpp"
#include "recorders.hpp"
#include "registered.hpp"

#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <memory>

using namespace selftest;

namespace {

constexpr std::uint32_t threads = 4;
const std::string fields =
    std::string(fields_of_recorders) + "; u32 thread; u32 number; __rel_loc char[] text";

/// A record whose bytes are all determined by the thread and the number.
Payload numbered(std::uint32_t thread, std::uint32_t number) {
    const auto value = static_cast<std::int64_t>((thread + 1) * 0x100000001ull * (number + 1));
    const std::string text(number % 50, static_cast<char>('a' + thread));
    return Payload()
        .add(value)
        .add(-value)
        .add(thread)
        .add(number)
        .add(location(0, text.size() + 1))
        .add_string(text);
}

/// Checks the records of one recorder in the order in which it returns them.
class Checker {
public:
    Checker() { last_.fill(-1); }

    void take(const Bytes& bytes) {
        std::uint32_t thread = 0, number = 0;
        std::memcpy(&thread, bytes.data() + 2 * sizeof(std::int64_t), sizeof(thread));
        std::memcpy(&number, bytes.data() + 2 * sizeof(std::int64_t) + sizeof(thread),
                    sizeof(number));
        const Bytes expected = numbered(thread % threads, number).bytes();
        seen++;
        if (thread >= threads || bytes.size() < expected.size() ||
            !std::equal(expected.begin(), expected.end(), bytes.begin())) {
            broken++;
            return;
        }
        unordered += number <= last_[thread];
        missing += number != last_[thread] + 1;
        last_[thread] = number;
    }
    void take(const Recorder::Taken& taken) {
        if (taken.payloads.empty())
            seen += taken.count;
        for (const Bytes& payload : taken.payloads)
            take(payload);
    }
    void take(Instance& instance) {
        for (const Record& record : instance.records())
            take(record.payload());
    }
    void take(PerfEvent& perf, std::uint64_t* lost = nullptr) {
        for (const PerfSample& sample : perf.samples(lost))
            take(sample.payload);
    }

    unsigned long seen = 0, broken = 0, unordered = 0, missing = 0;

private:
    std::array<long long, threads> last_;
};

/// Threads that write numbered records until stop(), at most `ahead` more than let_write() asked
/// for, so that the buffers do not overflow while a recorder attaches slowly. After EBADF, a thread
/// writes the same record again.
class Writers {
public:
    explicit Writers(Registered& registered) : registered_(registered) {
        for (std::uint32_t thread = 0; thread < threads; thread++)
            running_.emplace_back(
                [this, thread](const std::stop_token& stop) { write(thread, stop); });
        if (!eventually([&] { return started_ == threads; }))
            throw std::runtime_error("the writers do not start");
    }
    ~Writers() { stop(); }
    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;

    void stop() { running_.clear(); }

    /// Waits for `count` more writes, recorded or refused.
    void let_write(unsigned long count) {
        const unsigned long enough = written + refused + count;
        limit_ = enough + ahead;
        if (!eventually([&] { return written + refused >= enough; }))
            throw std::runtime_error("the writers make no progress");
    }

    pid_t task(std::uint32_t thread) const { return tasks_[thread]; }

    std::atomic<unsigned long> written{0}, refused{0}, failures{0};

private:
    static constexpr unsigned long ahead = 4000;

    void write(std::uint32_t thread, const std::stop_token& stop) {
        tasks_[thread] = gettid();
        started_++;
        std::uint32_t number = 0;
        for (unsigned long i = 0; !stop.stop_requested(); i++) {
            const Payload payload = numbered(thread, number);
            const Outcome outcome = registered_.record(payload);
            if (outcome == succeeds(static_cast<long>(payload.size()) + 4)) {
                number++;
                written++;
            } else if (outcome == fails(EBADF)) {
                refused++;
            } else {
                failures++;
            }
            // Bursts with pauses between them, so that readers get CPU time.
            const auto enough = [&] { return written + refused >= limit_; };
            for (bool pause = i % 32 == 0; pause; pause = enough() && !stop.stop_requested())
                std::this_thread::sleep_for(std::chrono::milliseconds(4));
        }
    }

    Registered& registered_;
    std::array<std::atomic<pid_t>, threads> tasks_{};
    std::atomic<unsigned> started_{0};
    std::atomic<unsigned long> limit_{ahead};
    std::vector<std::jthread> running_;
};

/// An instance that records all the time, and loses new records rather than old ones.
class Permanent {
public:
    explicit Permanent(const Event& event) : event_(event) {
        expect(write_text(instance_.path("buffer_size_kb"), "4096"), "buffer_size_kb");
        expect(write_text(instance_.path("options/overwrite"), "0"), "overwrite");
        expect(instance_.enable(event_), "enable");
    }
    ~Permanent() { instance_.disable(event_); }
    Permanent(const Permanent&) = delete;
    Permanent& operator=(const Permanent&) = delete;

    /// Consumes the buffer. The CPUs' buffers are read one after the other, so a later call may
    /// return earlier records of a thread.
    void collect() {
        for (const Record& record : instance_.records())
            records_.emplace_back(record.timestamp(), record.payload());
    }

    Checker check() {
        collect();
        std::ranges::sort(records_);
        Checker checker;
        for (const auto& [timestamp, payload] : records_)
            checker.take(payload);
        return checker;
    }

private:
    Event event_;
    Instance instance_;
    std::vector<std::pair<unsigned long long, Bytes>> records_;
};

void check_whole_and_ordered(const Checker& checker) {
    CHECK(checker.seen > 0);
    CHECK(checker.broken == 0);
    CHECK(checker.unordered == 0);
}

void check_has_all(Permanent& permanent, const Writers& writers, const Registered& registered) {
    const Checker checker = permanent.check();
    check_whole_and_ordered(checker);
    CHECK(checker.missing == 0);
    CHECK(checker.seen == writers.written);
    CHECK(writers.refused == 0);
    CHECK(writers.failures == 0);
    CHECK(registered.status() == " # Used by ftrace");
}

} // namespace

TEST_CASE("A recorder that is added and removed gets whole records; a permanent one gets all",
          "[race][slow]") {
    const RecorderKind& kind = GENERATE(from_range(recorder_kinds));
    CAPTURE(kind.name);
    const unsigned rounds = fewer_if_debug(20, 4);
    Registered registered(fields);
    Permanent permanent(registered.event);
    Checker checker;
    Writers writers(registered);
    for (unsigned round = 0; round < rounds; round++) {
        const auto switched = kind.attach(registered.event, writers.task(round % threads));
        writers.let_write(40);
        checker.take(switched->take());
        if (round % 8 == 0)
            permanent.collect();
    }
    CHECK(registered.word == 1);
    writers.stop();
    check_whole_and_ordered(checker);
    CHECK(checker.seen >= rounds);
    check_has_all(permanent, writers, registered);
    CHECK(writers.written >= 40ul * rounds);
}

TEST_CASE("A single recorder that is added and removed gets each record whose write succeeded",
          "[long]") {
    constexpr unsigned rounds = 30;
    Registered registered(fields);
    Instance instance;
    REQUIRE(write_text(instance.path("buffer_size_kb"), "4096").ok());
    Checker checker;
    Writers writers(registered);
    for (unsigned round = 0; round < rounds; round++) {
        writers.let_write(20);
        CHECK(instance.enable(registered.event) == succeeds());
        writers.let_write(40);
        CHECK(instance.disable(registered.event) == succeeds());
        checker.take(instance);
    }
    writers.stop();
    check_whole_and_ordered(checker);
    CHECK(checker.missing == 0);
    CHECK(checker.seen == writers.written);
    CHECK(writers.written >= rounds);
    CHECK(writers.refused >= rounds);
    CHECK(writers.failures == 0);
    CHECK(registered.word == 0);
}

namespace {

/// The counters of a child, in shared memory.
struct Progress {
    std::atomic<unsigned long> taken, broken, unordered, lost;
};

/// Stops a tracing process, continues it until it has seen enough, and kills it while the writers
/// write records.
template <typename Body, typename Condition>
void stop_and_kill(Child& tracer, Writers& writers, const Progress& progress, Body&& while_stopped,
                   Condition&& seen_enough) {
    const auto becomes = [&](const auto& condition) {
        return eventually([&] {
            writers.let_write(1);
            return condition();
        });
    };
    const auto takes_more_than = [&](unsigned long count) {
        return becomes([&] { return progress.taken > count; });
    };
    REQUIRE(takes_more_than(100));
    REQUIRE(kill(tracer.pid(), SIGSTOP) == 0);
    writers.let_write(200);
    while_stopped();
    REQUIRE(kill(tracer.pid(), SIGCONT) == 0);
    REQUIRE(takes_more_than(progress.taken));
    REQUIRE(becomes(seen_enough));
    writers.let_write(400);
    tracer.kill();
    writers.let_write(200);
}

} // namespace

TEST_CASE("Stopping and killing a reader of trace_pipe_raw does not affect writes") {
    Registered registered(fields);
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* progress = shared.at<Progress>();
    Permanent permanent(registered.event);
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    Child reader([&](Channel&) -> int {
        std::vector<Descriptor> raw;
        for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
            raw.push_back(Descriptor::open(
                instance.path("per_cpu/cpu" + std::to_string(cpu) + "/trace_pipe_raw"),
                O_RDONLY | O_NONBLOCK));
        std::array<char, 4096> page{};
        for (;;)
            for (const Descriptor& file : raw)
                if (const ssize_t size = read(file.number(), page.data(), page.size()); size > 0)
                    progress->taken += static_cast<unsigned long>(size);
    });
    Writers writers(registered);
    stop_and_kill(
        reader, writers, *progress, [] {}, [] { return true; });
    writers.stop();
    Checker rest;
    rest.take(instance);
    check_whole_and_ordered(rest);
    check_has_all(permanent, writers, registered);
    CHECK(instance.disable(registered.event) == succeeds());
}

TEST_CASE("Stopping and killing a process that reads perf samples does not affect writes") {
    Registered registered(fields);
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* progress = shared.at<Progress>();
    Permanent permanent(registered.event);
    Writers writers(registered);
    Child sampler([&](Channel&) -> int {
        PerfEvent perf(perf_sampling(registered.event), writers.task(0));
        Checker checker;
        std::uint64_t lost = 0;
        for (;;) {
            checker.take(perf, &lost);
            progress->broken = checker.broken;
            progress->unordered = checker.unordered;
            progress->lost = lost;
            progress->taken = checker.seen;
        }
    });
    stop_and_kill(
        sampler, writers, *progress,
        [&] {
            CHECK(registered.status() == " # Used by ftrace perf");
            // Fills the buffer of the stopped process, so that perf loses records.
            unsigned long written = writers.written;
            while (writers.written < written + 20000) {
                writers.let_write(1000);
                permanent.collect();
            }
        },
        [&] { return progress->lost > 0; });
    CHECK(progress->broken == 0);
    CHECK(progress->unordered == 0);
    writers.stop();
    check_has_all(permanent, writers, registered);
}

TEST_CASE("A BPF program runs while its owner is stopped, and detaches when the owner is killed") {
    Registered registered(fields);
    const Format format(registered.event);
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const TotalsMap map;
    Permanent permanent(registered.event);
    Child owner([&](Channel& channel) {
        const Program program(map, load_sum(format.field("plus"), format.field("minus")));
        PerfEvent perf(perf_attributes(registered.event), -1, 0);
        expect(perf.attach_program(program.descriptor()), "attach");
        channel.send(true);
        return channel.receive<bool>() ? 0 : 1;
    });
    REQUIRE(owner.channel().receive<bool>());
    Writers writers(registered);
    writers.let_write(200);
    REQUIRE(kill(owner.pid(), SIGSTOP) == 0);
    const std::uint64_t before = map.totals().runs;
    writers.let_write(200);
    CHECK(map.totals().runs > before);
    CHECK(registered.status() == " # Used by ftrace perf");
    owner.kill();
    CHECK(registered.status() == " # Used by ftrace");
    const Totals at_end = map.totals();
    CHECK(at_end.sum == 0);
    writers.let_write(200);
    CHECK(map.totals() == at_end);
    writers.stop();
    check_has_all(permanent, writers, registered);
}

TEST_CASE("Killing the only perf tracer clears the bit, and writes fail with EBADF again") {
    Registered registered(fields);
    const TotalsMap map;
    const Program program(map, load_at(BPF_W, 8));
    const bool with_bpf = GENERATE(false, true);
    CAPTURE(with_bpf);
    Writers writers(registered);
    for (unsigned round = 0; round < 10; round++) {
        Child tracer([&](Channel& channel) {
            channel.receive<bool>();
            PerfEvent perf(perf_sampling(registered.event), -1, 0);
            if (with_bpf)
                expect(perf.attach_program(program.descriptor()), "attach");
            channel.send(true);
            return channel.receive<bool>() ? 0 : 1;
        });
        unshare_page(registered.word);
        tracer.channel().send(true);
        REQUIRE(tracer.channel().receive<bool>());
        CHECK(registered.word == 1);
        const unsigned long written = writers.written;
        writers.let_write(50 + threads);
        CHECK(writers.written >= written + 50);
        if (round % 2 == 0)
            REQUIRE(kill(tracer.pid(), SIGSTOP) == 0);
        tracer.kill();
        CHECK(registered.word == 0);
        CHECK(registered.status().empty());
        const unsigned long refused = writers.refused;
        writers.let_write(50 + threads);
        CHECK(writers.refused >= refused + 50);
    }
    writers.stop();
    CHECK(writers.failures == 0);
}
