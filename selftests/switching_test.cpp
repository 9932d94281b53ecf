// SPDX-License-Identifier: GPL-2.0-only
// Recorders come and go, are stopped and killed, while four threads write: no record is torn, none
// comes twice or out of order, and none is missing where there was a recorder all the time.
#include "bpf.hpp"
#include "perf.hpp"
#include "registered.hpp"

#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>

using namespace selftest;

namespace {

constexpr std::uint32_t threads = 4;
constexpr const char* fields =
    " u32 thread; u32 number; s64 plus; s64 minus; __rel_loc char[] text";

/// A record that tells of every byte whether it belongs to it.
Payload numbered(std::uint32_t thread, std::uint32_t number) {
    const auto value = static_cast<std::int64_t>((thread + 1) * 0x100000001ull * (number + 1));
    const std::string text(number % 50, static_cast<char>('a' + thread));
    return Payload()
        .add(thread)
        .add(number)
        .add(value)
        .add(-value)
        .add<std::uint32_t>(DYN_LOC(0, text.size() + 1))
        .add_string(text);
}

/// Looks at the records of one recorder, in the order in which it has them.
class Judge {
public:
    Judge() { last_.fill(-1); }

    void take(const Bytes& bytes) {
        std::uint32_t thread = 0, number = 0;
        std::memcpy(&thread, bytes.data(), sizeof(thread));
        std::memcpy(&number, bytes.data() + sizeof(thread), sizeof(number));
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

/// Threads that write numbered records until the object goes, or are told to stop; not
/// many more than they are told to, so that a buffer has room for them however long it takes the
/// kernel to switch. A number that could not be recorded is tried again.
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

    /// Waits until so many more writes have been made, whatever their answer.
    void let_write(unsigned long count) {
        const unsigned long enough = written + refused + count;
        limit_ = enough + ahead;
        if (!eventually([&] { return written + refused >= enough; }))
            throw std::runtime_error("the writers are stuck");
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
            // In bursts, so that those who read have a chance.
            const auto enough = [&] { return written + refused >= limit_; };
            for (bool rest = i % 32 == 0; rest; rest = enough() && !stop.stop_requested())
                std::this_thread::sleep_for(std::chrono::milliseconds(4));
        }
    }

    Registered& registered_;
    std::array<std::atomic<pid_t>, threads> tasks_{};
    std::atomic<unsigned> started_{0};
    std::atomic<unsigned long> limit_{ahead};
    std::vector<std::jthread> running_;
};

/// An instance that records all the time, and drops rather than overwrites.
class Keeper {
public:
    explicit Keeper(const Event& event) : event_(event) {
        expect(write_text(instance_.path("buffer_size_kb"), "4096"), "buffer_size_kb");
        expect(write_text(instance_.path("options/overwrite"), "0"), "overwrite");
        expect(instance_.enable(event_), "enable");
    }
    ~Keeper() { instance_.disable(event_); }
    Keeper(const Keeper&) = delete;
    Keeper& operator=(const Keeper&) = delete;

    /// Takes out what there is. That is no moment of both CPUs, so that a thread's next record can
    /// come before its last one.
    void collect() {
        for (const Record& record : instance_.records())
            records_.emplace_back(record.timestamp(), record.payload());
    }

    Judge judge() {
        collect();
        std::ranges::sort(records_);
        Judge judge;
        for (const auto& [timestamp, payload] : records_)
            judge.take(payload);
        return judge;
    }

private:
    Event event_;
    Instance instance_;
    std::vector<std::pair<unsigned long long, Bytes>> records_;
};

/// A recorder that comes, and goes again after a while.
class Switched {
public:
    Switched() = default;
    Switched(const Switched&) = delete;
    Switched& operator=(const Switched&) = delete;
    virtual ~Switched() = default;
    virtual void once(const Event& event, Writers& writers, unsigned round) = 0;

    Judge judge;

protected:
    static constexpr unsigned long a_while = 40;
};

class SwitchedFile : public Switched {
public:
    explicit SwitchedFile(const Event&) {
        expect(write_text(instance_.path("buffer_size_kb"), "4096"), "buffer_size_kb");
    }

    void once(const Event& event, Writers& writers, unsigned) override {
        expect(instance_.enable(event), "enable");
        writers.let_write(a_while);
        expect(instance_.disable(event), "disable");
        judge.take(instance_);
    }

private:
    Instance instance_;
};

class SwitchedInstance : public Switched {
public:
    explicit SwitchedInstance(const Event&) {}

    void once(const Event& event, Writers& writers, unsigned round) override {
        Instance instance;
        expect(instance.enable(event), "enable");
        writers.let_write(a_while);
        if (round % 2 == 0)
            judge.take(instance);
    }
};

class SwitchedPerf : public Switched {
public:
    explicit SwitchedPerf(const Event&) {}

    void once(const Event& event, Writers& writers, unsigned round) override {
        PerfEvent perf(perf_sampling(event), writers.task(round % threads));
        writers.let_write(a_while);
        if (round % 2 == 0)
            perf.disable();
        judge.take(perf);
    }
};

/// The program finds that two fields of each record add up to 0.
class SwitchedProgram : public Switched {
public:
    explicit SwitchedProgram(const Event& event)
        : format_(event), program_(map_, load_sum(format_.field("plus"), format_.field("minus"))) {}

    void once(const Event& event, Writers& writers, unsigned) override {
        PerfEvent perf(perf_attributes(event), -1, 0);
        expect(perf.attach_program(program_.descriptor()), "attach");
        writers.let_write(a_while);
        perf.close();
        judge.seen = map_.seen().runs;
        judge.broken += map_.seen().sum != 0;
    }

private:
    Format format_;
    SeenMap map_;
    Program program_;
};

class SwitchedTrigger : public Switched {
public:
    explicit SwitchedTrigger(const Event&) {}

    void once(const Event& event, Writers& writers, unsigned) override {
        const std::string path = instance_.path("events/user_events/" + event.name() + "/");
        expect(write_text(path + "trigger", "hist:size=128:keys=thread"), "trigger");
        writers.let_write(a_while);
        const std::string histogram = read_text(path + "hist");
        expect(write_text(path + "trigger", "!hist:size=128:keys=thread"), "trigger");
        for (std::uint32_t thread = 0; thread < threads; thread++)
            judge.seen += histogram.find("{ thread:          " + std::to_string(thread) + " }") !=
                          std::string::npos;
    }

private:
    Instance instance_;
};

struct Kind {
    const char* name;
    unsigned rounds;
    std::function<std::unique_ptr<Switched>(const Event&)> make;
};

template <typename T>
Kind kind(const char* name, unsigned rounds = 30) {
    return {name, rounds, [](const Event& event) { return std::make_unique<T>(event); }};
}

// To make an instance takes long, and many records are written meanwhile.
const Kind kinds[] = {kind<SwitchedFile>("an instance's enable file"),
                      kind<SwitchedInstance>("an instance", 10), kind<SwitchedPerf>("perf"),
                      kind<SwitchedProgram>("BPF"), kind<SwitchedTrigger>("a trigger")};

void judge_is_content(const Judge& judge) {
    CHECK(judge.seen > 0);
    CHECK(judge.broken == 0);
    CHECK(judge.unordered == 0);
}

/// Of one that has been there all the time.
void keeper_is_content(Keeper& keeper, const Writers& writers, const Registered& registered) {
    const Judge judge = keeper.judge();
    judge_is_content(judge);
    CHECK(judge.missing == 0);
    CHECK(judge.seen == writers.written);
    CHECK(writers.refused == 0);
    CHECK(writers.failures == 0);
    CHECK(registered.status() == " # Used by ftrace");
}

} // namespace

TEST_CASE("A recorder that comes and goes gets whole records, and one that stays gets all") {
    const Kind& kind = GENERATE(from_range(std::begin(kinds), std::end(kinds)));
    CAPTURE(kind.name);
    const unsigned rounds = fewer(kind.rounds, 4);
    Registered registered(fields);
    const auto switched = kind.make(registered.event);
    Keeper keeper(registered.event);
    Writers writers(registered);
    for (unsigned round = 0; round < rounds; round++) {
        switched->once(registered.event, writers, round);
        if (round % 8 == 0)
            keeper.collect();
    }
    CHECK(registered.word == 1);
    writers.stop();
    judge_is_content(switched->judge);
    CHECK(switched->judge.seen >= rounds);
    keeper_is_content(keeper, writers, registered);
    CHECK(writers.written >= 40ul * rounds);
}

TEST_CASE("What was said to be recorded is recorded, by a recorder that comes and goes") {
    constexpr unsigned rounds = 30;
    Registered registered(fields);
    SwitchedFile switched(registered.event);
    Writers writers(registered);
    for (unsigned round = 0; round < rounds; round++) {
        writers.let_write(20);
        switched.once(registered.event, writers, round);
    }
    writers.stop();
    judge_is_content(switched.judge);
    CHECK(switched.judge.missing == 0);
    CHECK(switched.judge.seen == writers.written);
    CHECK(writers.written >= rounds);
    CHECK(writers.refused >= rounds);
    CHECK(writers.failures == 0);
    CHECK(registered.word == 0);
}

namespace {

/// What a child tells of its work, in memory that both have.
struct Progress {
    std::atomic<unsigned long> taken, broken, unordered, lost;
};

/// Is stopped for a while, goes on until it has seen enough, and is killed, all the time with
/// records on their way to it.
template <typename Body, typename Condition>
void stop_and_kill(Child& tracer, Writers& writers, const Progress& progress, Body&& while_stopped,
                   Condition&& seen_enough) {
    const auto becomes = [&](const auto& condition) {
        return eventually([&] {
            writers.let_write(1);
            return condition();
        });
    };
    const auto takes = [&](unsigned long enough) {
        return becomes([&] { return progress.taken > enough; });
    };
    REQUIRE(takes(100));
    REQUIRE(kill(tracer.pid(), SIGSTOP) == 0);
    writers.let_write(200);
    while_stopped();
    REQUIRE(kill(tracer.pid(), SIGCONT) == 0);
    REQUIRE(takes(progress.taken));
    REQUIRE(becomes(seen_enough));
    writers.let_write(400);
    tracer.kill();
    writers.let_write(200);
}

} // namespace

TEST_CASE("Writes go on when a reader of raw records is stopped and killed") {
    Registered registered(fields);
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* progress = shared.at<Progress>();
    Keeper keeper(registered.event);
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    Child reader([&](Channel&) -> int {
        std::vector<Descriptor> raw;
        for (const char* cpu : {"0", "1"})
            raw.push_back(Descriptor::open(
                instance.path(std::string("per_cpu/cpu") + cpu + "/trace_pipe_raw"),
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
    Judge rest;
    rest.take(instance);
    judge_is_content(rest);
    keeper_is_content(keeper, writers, registered);
    CHECK(instance.disable(registered.event) == succeeds());
}

TEST_CASE("Writes go on when a program that samples is stopped and killed") {
    Registered registered(fields);
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto* progress = shared.at<Progress>();
    Keeper keeper(registered.event);
    Writers writers(registered);
    Child sampler([&](Channel&) -> int {
        PerfEvent perf(perf_sampling(registered.event), writers.task(0));
        Judge judge;
        std::uint64_t lost = 0;
        for (;;) {
            judge.take(perf, &lost);
            progress->broken = judge.broken;
            progress->unordered = judge.unordered;
            progress->lost = lost;
            progress->taken = judge.seen;
        }
    });
    stop_and_kill(
        sampler, writers, *progress,
        [&] {
            CHECK(registered.status() == " # Used by ftrace perf");
            // Until its buffer is full: from then on perf counts what it loses.
            unsigned long written = writers.written;
            while (writers.written < written + 20000) {
                writers.let_write(1000);
                keeper.collect();
            }
        },
        [&] { return progress->lost > 0; });
    CHECK(progress->broken == 0);
    CHECK(progress->unordered == 0);
    writers.stop();
    keeper_is_content(keeper, writers, registered);
}

TEST_CASE("A BPF program goes with its program, be that stopped or not") {
    Registered registered(fields);
    const Format format(registered.event);
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const SeenMap map;
    Keeper keeper(registered.event);
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
    const std::uint64_t before = map.seen().runs;
    writers.let_write(200);
    CHECK(map.seen().runs > before);
    CHECK(registered.status() == " # Used by ftrace perf");
    owner.kill();
    CHECK(registered.status() == " # Used by ftrace");
    const Seen at_end = map.seen();
    CHECK(at_end.sum == 0);
    writers.let_write(200);
    CHECK(map.seen() == at_end);
    writers.stop();
    keeper_is_content(keeper, writers, registered);
}

TEST_CASE("Tracing programs that are killed clear the bit, and the program sees it") {
    Registered registered(fields);
    const SeenMap map;
    const Program program(map, load_at(BPF_W, 8));
    const bool with_program = GENERATE(false, true);
    CAPTURE(with_program);
    Writers writers(registered);
    for (unsigned round = 0; round < 10; round++) {
        Child tracer([&](Channel& channel) {
            channel.receive<bool>();
            PerfEvent perf(perf_sampling(registered.event), -1, 0);
            if (with_program)
                expect(perf.attach_program(program.descriptor()), "attach");
            channel.send(true);
            return channel.receive<bool>() ? 0 : 1;
        });
        own_page(registered.word);
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
