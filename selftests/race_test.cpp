// SPDX-License-Identifier: GPL-2.0-only
// Registering, deleting, sharing indexes, closing and exiting in parallel.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "overlaps.hpp"
#include "processor.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace selftest;

namespace {

constexpr unsigned persist = USER_EVENT_REG_PERSIST;
constexpr unsigned multi_format = USER_EVENT_REG_MULTI_FORMAT;

/// Random pauses between system calls, so that those of two CPUs interleave in every order. An
/// emulator that runs one CPU at a time switches to the next one at a pause instruction.
class Pauses {
public:
    explicit Pauses(unsigned seed) : random_(seed) {}

    void between(unsigned least, unsigned most) {
        for (unsigned left = least + random_() % (most - least + 1); left > 0; left--)
            pause_processor();
    }

private:
    std::minstd_rand random_;
};

/// Counts the results of deletions.
struct Deletions {
    unsigned long deleted = 0, absent = 0, busy = 0, other = 0;
    int other_error = 0;

    void count(const Outcome& outcome) {
        if (outcome.ok()) {
            deleted++;
        } else if (outcome == fails(ENOENT)) {
            absent++;
        } else if (outcome == fails(EBUSY)) {
            busy++;
        } else {
            other++;
            other_error = outcome.error();
        }
    }
};

/// A process on the second CPU that deletes a name repeatedly until finish().
class Deleter {
public:
    explicit Deleter(const std::string& name)
        : child_([&, stop = stop()](Channel& channel) {
              const OnCpu second(1);
              Pauses pauses(1);
              DataFile file;
              Deletions deletions;
              channel.send('r');
              while (!*stop) {
                  deletions.count(overlaps_->theirs([&] { return file.delete_event(name); }));
                  pauses.between(1, 3);
              }
              channel.send(deletions);
              return 0;
          }) {
        child_.channel().receive<char>();
    }

    /// Overlaps of its deletions with calls of the test.
    const SharedOverlaps& overlaps() const { return overlaps_; }

    Deletions finish() {
        *stop() = true;
        return child_.channel().receive<Deletions>();
    }

private:
    std::atomic<bool>* stop() const { return shared_.at<std::atomic<bool>>(); }

    Mapping shared_{1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
    const SharedOverlaps overlaps_;
    Child child_;
};

/// The tracepoints of a multi-format event.
std::set<std::string> tracepoints(const std::string& name) {
    std::set<std::string> found;
    for (const std::string& line : lines_of(status()))
        if (line.starts_with(name + "."))
            found.insert(line.substr(0, line.find(' ')));
    return found;
}

/// Throws std::runtime_error unless the event has exactly one tracepoint.
Event only_tracepoint(const std::string& name) {
    const std::set<std::string> found = tracepoints(name);
    if (found.size() != 1)
        throw std::runtime_error(std::to_string(found.size()) + " tracepoints of " + name);
    return Event(*found.begin(), USER_EVENTS_MULTI_SYSTEM);
}

} // namespace

TEST_CASE("DEL in parallel with REG never removes a registered event", "[race][long]") {
    Rounds rounds(fewer_if_debug(1000), 50000, std::chrono::seconds(3));
    const bool multi = GENERATE(false, true);
    const unsigned flags = multi ? persist | multi_format : persist;
    CAPTURE(multi);
    const unsigned long active = stable_status_count("Active: ");
    const std::string name = unique_name("race");
    const std::string command = name + " u32 a";
    const Event single(name);
    const std::string format = single.path("format");

    Word word{0};
    unsigned not_registered = 0, lost = 0, without_files = 0, broken = 0, not_unregistered = 0;
    int register_error = 0;
    unsigned long overlaps = 0;
    Deletions deletions;
    {
        Deleter deleter(name);
        const OnCpu first(0);
        Pauses pauses(2);
        while (rounds.next()) {
            const unsigned round = rounds.started();
            DataFile file;
            user_reg reg = registration(&word, 0, command.c_str(), 4, flags);
            pauses.between(0, 2);
            const Outcome outcome =
                deleter.overlaps()->ours([&] { return file.register_event(reg); });
            if (!outcome.ok()) {
                not_registered++;
                register_error = outcome.error();
                continue;
            }
            pauses.between(0, 2);
            // The event is registered but not enabled: not ENOENT.
            lost += file.record(reg.write_index, Payload().add(round)) != fails(EBADF);
            if (round % 1000 == 0) {
                const Enabled enabled{multi ? only_tracepoint(name) : single};
                broken += word != 1 || !file.record(reg.write_index, Payload().add(round)).ok();
            }
            if (!multi)
                without_files += !exists(format);
            pauses.between(0, 2);
            not_unregistered += !file.unregister(&word, 0).ok();
        }
        deletions = deleter.finish();
        overlaps = deleter.overlaps()->count();
    }
    CHECK(not_registered == 0);
    CHECK(register_error == 0);
    CHECK(lost == 0);
    CHECK(without_files == 0);
    CHECK(broken == 0);
    CHECK(not_unregistered == 0);
    CHECK(deletions.other == 0);
    CHECK(deletions.other_error == 0);
    // In each order, and at the same time.
    CHECK(deletions.deleted > 0);
    CHECK(deletions.absent > 0);
    CHECK(deletions.busy > 0);
    CHECK(overlaps > 0);

    DataFile file;
    const Outcome last = file.delete_event(name);
    CHECK((last == succeeds() || last == fails(ENOENT)));
    CHECK(file.delete_event(name) == fails(ENOENT));
    CHECK_FALSE(single.exists());
    CHECK(status().find(name) == std::string::npos);
    CHECK(status_count("Active: ") == active);
}

TEST_CASE("Killing the only user of one format removes that format, and the other keeps working") {
    const unsigned rounds = fewer_if_debug(20, 5);
    const std::string name = unique_name("formats");
    Word word{0};
    Instance instance;
    DataFile file;
    const std::uint32_t index = file.must_register(&word, 0, name + " u32 a", 4, multi_format);
    const Event stays = only_tracepoint(name);
    REQUIRE(instance.enable(stays) == succeeds());
    const std::string format = stays.format();

    std::set<std::string> removed_names;
    for (unsigned round = 0; round < rounds; round++) {
        CAPTURE(round);
        Word other{0};
        Child dying([&](Channel& channel) {
            DataFile data;
            data.must_register(&other, 0, name + " u64 b", 4, multi_format);
            channel.send('r');
            // The test kills the child in this loop.
            for (;;) {
                data.must_register(&other, 1, name + " u64 b", 4, multi_format);
                data.unregister(&other, 1);
            }
            return 0;
        });
        REQUIRE(dying.channel().receive<char>() == 'r');
        std::set<std::string> both = tracepoints(name);
        REQUIRE(both.size() == 2);
        REQUIRE(both.erase(stays.name()) == 1);
        const Event removed(*both.begin(), USER_EVENTS_MULTI_SYSTEM);
        CHECK(removed.exists());
        CHECK(file.delete_event(name) == fails(EBUSY));

        dying.kill();
        CHECK(removed.wait_removed());
        removed_names.insert(removed.name());
        CHECK(stays.format() == format);
        CHECK(word == 1);
        CHECK(file.record(index, Payload().add(round)) == succeeds(8));
    }
    // Format numbers are not reused.
    CHECK(removed_names.size() == rounds);
    CHECK(tracepoints(name) == std::set{stays.name()});
    // libtraceevent does not parse names with a dot.
    std::vector<std::string> expected;
    for (unsigned round = 0; round < rounds; round++)
        expected.push_back(stays.name() + ": a=" + std::to_string(round));
    CHECK(instance.trace(stays) == expected);
    CHECK(instance.disable(stays) == succeeds());
    REQUIRE(file.unregister(&word, 0) == succeeds());
    file.close();
    CHECK(stays.wait_removed());
}

TEST_CASE("Threads that make the first registrations of an address space in parallel all succeed") {
    constexpr unsigned threads = 4;
    const unsigned rounds = fewer_if_debug(30, 10);
    const Event event(unique_name("first"));
    Word holder_word{0};
    unsigned failed = 0;
    Child holder([&](Channel& channel) {
        DataFile file;
        file.must_register(&holder_word, 0, event.name());
        channel.send('r');
        channel.receive<char>();
        return 0;
    });
    REQUIRE(holder.channel().receive<char>() == 'r');
    const Enabled enabled{event};
    for (unsigned round = 0; round < rounds; round++)
        failed += in_child([&]() -> int {
                      Word word{0};
                      std::atomic<unsigned> wrong{0};
                      std::barrier all(threads);
                      std::vector<std::jthread> running;
                      for (unsigned i = 0; i < threads; i++)
                          running.emplace_back([&, i] {
                              DataFile file;
                              all.arrive_and_wait();
                              wrong += !file.register_event(&word, i, event.name()).ok();
                              all.arrive_and_wait();
                              wrong += word != (1u << threads) - 1;
                              all.arrive_and_wait();
                              wrong += !file.unregister(&word, i).ok();
                          });
                      running.clear();
                      return static_cast<int>(wrong + word);
                  }) != 0;
    CHECK(failed == 0);
    holder.channel().send('e');
    CHECK(holder.wait() == 0);
}

namespace {

/// A program that shares its registrations with a child, and gets a set of its own by registering
/// another bit while an event changes.
class CopyingProgram {
public:
    CopyingProgram(const Event& event, const Event& other, const SharedOverlaps& overlaps)
        : child_([&](Channel& channel) { return serve(channel, event, other, overlaps); }) {}

    /// Registers again, as the last one in the event's list, and forks.
    void prepare() { child_.channel().ask<char>('p'); }

    /// Registers another bit after some time, without waiting for the result.
    void copy_after(unsigned microseconds) { child_.channel().send(microseconds); }

    void wait_copied() { child_.channel().receive<char>(); }

    void end_round() { child_.channel().send('e'); }

    bool bit() { return child_.channel().ask<bool>('b'); }

private:
    /// So many that a copy takes some time.
    static constexpr unsigned others = 3000;

    static int serve(Channel& channel, const Event& event, const Event& other,
                     const SharedOverlaps& overlaps) {
        std::vector<Word> words(2 + others / 32 + 1);
        DataFile file;
        for (unsigned i = 0; i < others; i++)
            file.must_register(&words[2 + i / 32], i % 32, other.name());
        file.must_register(&words[0], 0, event.name());
        while (channel.receive<char>() == 'p') {
            expect(file.unregister(&words[0], 0), "unregister");
            file.must_register(&words[0], 0, event.name());
            Child sharing([](Channel& nothing) { return nothing.receive<char>(); });
            channel.send('r');
            const auto pause = std::chrono::microseconds(channel.receive<unsigned>());
            std::this_thread::sleep_for(pause);
            overlaps->theirs([&] { file.must_register(&words[1], 0, other.name()); });
            channel.send('c');
            while (channel.receive<char>() == 'b')
                channel.send(words[0] == 1);
            sharing.kill();
            expect(file.unregister(&words[1], 0), "unregister");
        }
        return 0;
    }

    Child child_;
};

} // namespace

TEST_CASE("A program that gets a set of its own during a change of very many bits misses nothing",
          "[long]") {
    const unsigned bits = fewer_if_debug(150000);
    const Event event(unique_name("many")), other(unique_name("other"));
    std::vector<Word> words(bits / 32 + 1);
    DataFile file;
    const SharedOverlaps overlaps;
    std::vector<std::unique_ptr<CopyingProgram>> programs(10);
    for (auto& program : programs)
        program = std::make_unique<CopyingProgram>(event, other, overlaps);
    for (unsigned i = 0; i < bits; i++)
        file.must_register(&words[i / 32], i % 32, event.name());
    std::minstd_rand random;
    unsigned late = 0;
    for (unsigned round = 0; round < fewer_if_debug(16); round++) {
        const bool enable = round % 2 == 0;
        for (const auto& program : programs)
            program->prepare();
        for (const auto& program : programs)
            program->copy_after(random() % 60000);
        REQUIRE(overlaps->ours([&] { return enable ? event.enable() : event.disable(); }) ==
                succeeds(1));
        for (const auto& program : programs)
            program->wait_copied();
        for (const auto& program : programs)
            late += !eventually([&] { return program->bit() == enable; });
        for (const auto& program : programs)
            program->end_round();
    }
    CHECK(late == 0);
    // The copies were made during changes.
    CHECK(overlaps->count() > 0);
    REQUIRE(event.disable() == succeeds(1));
}

namespace {

/// A thread on the second CPU that runs a function once in each round, in parallel with what the
/// caller does between start() and wait(). Both sides pause before, for random times, which are
/// short in most rounds.
class Rival {
public:
    explicit Rival(std::function<void()> act)
        : thread_([this, act = std::move(act)](const std::stop_token& stop) { run(stop, act); }) {}

    /// Starts another of the rounds. Goes on until a call has overlapped: where CPUs are emulated
    /// in turn, that is rare.
    bool next(Rounds& rounds) {
        return rounds.next() ||
               (overlaps() == 0 && std::chrono::steady_clock::now() - begun_ < wait_limit);
    }
    unsigned rounds() const { return started_; }
    void start() { pauses_.between(0, longest_pause(started_++)); }
    /// Makes the caller's call that is to overlap with the function.
    Outcome overlapping(const std::function<Outcome()>& call) { return overlaps_.ours(call); }
    /// Returns how many calls of overlapping() did.
    unsigned long overlaps() const { return overlaps_.count(); }
    void wait() {
        while (finished_ != started_)
            pause_processor();
    }

private:
    static unsigned longest_pause(unsigned round) { return (1U << round % 9) - 1; }

    void run(const std::stop_token& stop, const std::function<void()>& act) {
        const OnCpu second(1);
        Pauses pauses(1);
        for (unsigned round = 1;; round++) {
            while (started_ != round) {
                if (stop.stop_requested())
                    return;
                pause_processor();
            }
            pauses.between(0, longest_pause(round / 9));
            overlaps_.theirs(act);
            finished_ = round;
        }
    }

    Pauses pauses_{2};
    Overlaps overlaps_;
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    std::atomic<unsigned> started_{0}, finished_{0};
    std::jthread thread_;
};

Rounds many_rounds() {
    return Rounds(fewer_if_debug(500), 10000, std::chrono::seconds(2));
}

} // namespace

TEST_CASE("REG in parallel with sharing gets an index of the other file, or sharing fails",
          "[race]") {
    const Event event(unique_name("raced"));
    std::array<Word, 2> words{};
    Word word{0};
    DataFile source;
    source.must_register(&words[0], 0, unique_name("first"));
    REQUIRE(source.must_register(&words[1], 0, event.name()) == 1);
    const Enabled enabled(event);
    std::optional<DataFile> file;
    std::uint32_t index = 0;
    Rival rival([&] { index = file->must_register(&word, 0, event.name()); });
    const OnCpu first(0);
    unsigned shared = 0, busy = 0, wrong = 0;
    Rounds rounds = many_rounds();
    while (rival.next(rounds)) {
        file.emplace();
        rival.start();
        const Outcome outcome = rival.overlapping([&] { return file->share_indexes(source); });
        rival.wait();
        shared += outcome.ok();
        busy += outcome == fails(EBUSY);
        wrong += index != (outcome.ok() ? 1 : 0);
        wrong += !file->record(index).ok() || file->record(2) != fails(ENOENT);
        wrong += !file->unregister(&word, 0).ok();
    }
    CHECK(wrong == 0);
    CHECK(shared + busy == rival.rounds());
    // In both orders, and at the same time.
    CHECK(shared > 0);
    CHECK(busy > 0);
    CHECK(rival.overlaps() > 0);
}

TEST_CASE("Of two files that share with each other at the same time, one succeeds", "[race]") {
    const std::string name = unique_name("circle");
    Word word{0};
    std::optional<DataFile> one, other;
    Outcome of_rival = succeeds();
    Rival rival([&] { of_rival = other->share_indexes(*one); });
    const OnCpu first(0);
    unsigned won = 0, lost = 0, wrong = 0;
    Rounds rounds = many_rounds();
    while (rival.next(rounds)) {
        one.emplace();
        other.emplace();
        rival.start();
        const Outcome outcome = rival.overlapping([&] { return one->share_indexes(*other); });
        rival.wait();
        won += outcome.ok() && of_rival == fails(EBUSY);
        lost += outcome == fails(EBUSY) && of_rival.ok();
        wrong += one->must_register(&word, 0, name) != 0;
        wrong += other->record(0) != fails(EBADF);
        wrong += !one->unregister(&word, 0).ok();
    }
    CHECK(wrong == 0);
    CHECK(won + lost == rival.rounds());
    CHECK(won > 0);
    CHECK(lost > 0);
    CHECK(rival.overlaps() > 0);
}

TEST_CASE("A file that is shared while it gets indexes itself shares those, or gets none",
          "[race]") {
    const std::string name = unique_name("chain");
    Word word{0};
    DataFile source;
    source.must_register(&word, 0, name);
    std::optional<DataFile> middle, last;
    Outcome of_rival = succeeds();
    Rival rival([&] { of_rival = last->share_indexes(*middle); });
    const OnCpu first(0);
    unsigned shared = 0, busy = 0, wrong = 0;
    Rounds rounds = many_rounds();
    while (rival.next(rounds)) {
        middle.emplace();
        last.emplace();
        rival.start();
        const Outcome outcome = rival.overlapping([&] { return middle->share_indexes(source); });
        rival.wait();
        shared += outcome.ok();
        busy += outcome == fails(EBUSY);
        wrong += !of_rival.ok();
        for (DataFile* file : {&*middle, &*last})
            wrong += file->record(0) != fails(outcome.ok() ? EBADF : ENOENT);
    }
    CHECK(wrong == 0);
    CHECK(shared + busy == rival.rounds());
    // In both orders, and at the same time.
    CHECK(shared > 0);
    CHECK(busy > 0);
    CHECK(rival.overlaps() > 0);
}

TEST_CASE("Sharing in parallel with the close of the other file succeeds, or finds it closed",
          "[race][long]") {
    const Event event(unique_name("closed"));
    Word word{0};
    std::optional<DataFile> source, sharing;
    Rival rival([&] { source->close(); });
    const OnCpu first(0);
    unsigned shared = 0, closed = 0, wrong = 0;
    Rounds rounds = many_rounds();
    while (rival.next(rounds)) {
        source.emplace();
        sharing.emplace();
        source->must_register(&word, 0, event.name());
        const int descriptor = source->descriptor();
        rival.start();
        const Outcome outcome =
            rival.overlapping([&] { return sharing->share_indexes(descriptor); });
        const Outcome recorded = sharing->record(0);
        rival.wait();
        shared += outcome.ok();
        closed += outcome == fails(EBADF);
        wrong += recorded != fails(outcome.ok() ? EBADF : ENOENT);
        wrong += !sharing->unregister(&word, 0).ok();
    }
    CHECK(wrong == 0);
    CHECK(shared + closed == rival.rounds());
    CHECK(shared > 0);
    CHECK(closed > 0);
    CHECK(rival.overlaps() > 0);
    sharing.reset();
    CHECK(event.wait_removed());
}

TEST_CASE("An index is valid in all files that share it as soon as REG has returned", "[race]") {
    // The table of indexes grows several times.
    constexpr unsigned events = 64;
    const std::string name = unique_name("grown");
    LongWord word{0}, kept{0};
    DataFile keeping;
    for (unsigned i = 0; i < events; i++)
        keeping.must_register(&kept, i, name + std::to_string(i), 8);
    std::optional<DataFile> source, sharing;
    std::atomic<unsigned> registered{0};
    Overlaps overlaps;
    Rival rival([&] {
        for (unsigned i = 0; i < events; i++) {
            overlaps.theirs([&] { source->must_register(&word, i, name + std::to_string(i), 8); });
            registered = i + 1;
            pause_processor();
        }
    });
    const OnCpu first(0);
    unsigned wrong = 0;
    Rounds rounds(fewer_if_debug(30), 500, std::chrono::seconds(2));
    while (rounds.next()) {
        registered = 0;
        source.emplace();
        sharing.emplace();
        expect(sharing->share_indexes(*source), "share the indexes");
        rival.start();
        for (unsigned seen = 0; seen < events;) {
            seen = registered;
            // The event is registered but not enabled: not ENOENT.
            wrong += seen > 0 &&
                     overlaps.ours([&] { return sharing->record(seen - 1); }) != fails(EBADF);
            pause_processor();
        }
        rival.wait();
        for (unsigned i = 0; i < events; i++)
            wrong += !source->unregister(&word, i).ok();
    }
    CHECK(wrong == 0);
    CHECK(overlaps.count() > 0);
}
