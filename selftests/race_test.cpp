// SPDX-License-Identifier: GPL-2.0-only
// Registering and deleting at the same time, on two CPUs: no event is lost, and none is left.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace selftest;

namespace {

constexpr unsigned persist = USER_EVENT_REG_PERSIST;
constexpr unsigned multi_format = USER_EVENT_REG_MULTI_FORMAT;

/// Pauses of random length between two system calls, so that those of two CPUs meet in every order.
/// An emulator that runs its CPUs in turns goes on to the next one at each pause.
class Pauses {
public:
    explicit Pauses(unsigned seed) : random_(seed) {}

    void between(unsigned least, unsigned most) {
        for (unsigned left = least + random_() % (most - least + 1); left > 0; left--)
            __builtin_ia32_pause();
    }

private:
    std::minstd_rand random_;
};

/// How often each answer came.
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

/// A process on the second CPU that deletes a name time and again, until it is told to stop.
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
                  deletions.count(file.delete_event(name));
                  pauses.between(1, 3);
              }
              channel.send(deletions);
              return 0;
          }) {
        child_.channel().receive<char>();
    }

    Deletions finish() {
        *stop() = true;
        return child_.channel().receive<Deletions>();
    }

private:
    std::atomic<bool>* stop() const { return shared_.at<std::atomic<bool>>(); }

    Mapping shared_{1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
    Child child_;
};

/// The tracepoints of a name of many formats.
std::set<std::string> tracepoints(const std::string& name) {
    std::set<std::string> found;
    for (const std::string& line : lines_of(status()))
        if (line.starts_with(name + "."))
            found.insert(line.substr(0, line.find(' ')));
    return found;
}

/// The one that there is. Throws std::runtime_error where there is none, or more.
Event only_tracepoint(const std::string& name) {
    const std::set<std::string> found = tracepoints(name);
    if (found.size() != 1)
        throw std::runtime_error(std::to_string(found.size()) + " tracepoints of " + name);
    return Event(*found.begin(), USER_EVENTS_MULTI_SYSTEM);
}

} // namespace

TEST_CASE("A deletion takes no event from under a registration, in thousands of races of the two") {
    Rounds rounds(fewer(1000), 50000, std::chrono::seconds(8));
    const bool multi = GENERATE(false, true);
    const unsigned flags = multi ? persist | multi_format : persist;
    CAPTURE(multi);
    const unsigned long active = settled_count("Active: ");
    const std::string name = unique_name("race");
    const std::string command = name + " u32 a";
    const Event single(name);
    const std::string format = single.path("format");

    Word word{0};
    unsigned refused = 0, lost = 0, without_files = 0, useless = 0, not_unregistered = 0;
    int refused_error = 0;
    Deletions deletions;
    {
        Deleter deleter(name);
        const OnCpu first(0);
        Pauses pauses(2);
        while (rounds.next()) {
            const unsigned round = rounds.begun();
            DataFile file;
            user_reg reg = registration(&word, 0, command.c_str(), 4, flags);
            pauses.between(0, 2);
            if (const Outcome outcome = file.register_event(reg); !outcome.ok()) {
                refused++;
                refused_error = outcome.error();
                continue;
            }
            pauses.between(0, 2);
            // Registered, and enabled by nobody: not ENOENT.
            lost += file.record(reg.write_index, Payload().add(round)) != fails(EBADF);
            if (round % 1000 == 0) {
                const Enabled enabled{multi ? only_tracepoint(name) : single};
                useless += word != 1 || !file.record(reg.write_index, Payload().add(round)).ok();
            }
            if (!multi)
                without_files += !exists(format);
            pauses.between(0, 2);
            not_unregistered += !file.unregister(&word, 0).ok();
        }
        deletions = deleter.finish();
    }
    CHECK(refused == 0);
    CHECK(refused_error == 0);
    CHECK(lost == 0);
    CHECK(without_files == 0);
    CHECK(useless == 0);
    CHECK(not_unregistered == 0);
    CHECK(deletions.other == 0);
    CHECK(deletions.other_error == 0);
    // The two did meet.
    CHECK(deletions.deleted > rounds.begun() / 1000);
    CHECK(deletions.absent > rounds.begun() / 1000);
    CHECK(deletions.busy > rounds.begun() / 1000);

    DataFile file;
    const Outcome last = file.delete_event(name);
    CHECK((last == succeeds() || last == fails(ENOENT)));
    CHECK(file.delete_event(name) == fails(ENOENT));
    CHECK_FALSE(single.exists());
    CHECK(status().find(name) == std::string::npos);
    CHECK(status_count("Active: ") == active);
}

TEST_CASE("One format of a name goes with its process, the other one stays and works") {
    const unsigned rounds = fewer(20, 5);
    const std::string name = unique_name("formats");
    Word word{0};
    Instance instance;
    DataFile file;
    const std::uint32_t index = file.index_of(&word, 0, name + " u32 a", 4, multi_format);
    const Event stays = only_tracepoint(name);
    REQUIRE(instance.enable(stays) == succeeds());
    const std::string format = stays.format();

    std::set<std::string> gone;
    for (unsigned round = 0; round < rounds; round++) {
        CAPTURE(round);
        Word other{0};
        Child dying([&](Channel& channel) {
            DataFile data;
            data.index_of(&other, 0, name + " u64 b", 4, multi_format);
            channel.send('r');
            // Killed somewhere in here.
            for (;;) {
                data.index_of(&other, 1, name + " u64 b", 4, multi_format);
                data.unregister(&other, 1);
            }
            return 0;
        });
        REQUIRE(dying.channel().receive<char>() == 'r');
        std::set<std::string> both = tracepoints(name);
        REQUIRE(both.size() == 2);
        REQUIRE(both.erase(stays.name()) == 1);
        const Event goes(*both.begin(), USER_EVENTS_MULTI_SYSTEM);
        CHECK(goes.exists());
        CHECK(file.delete_event(name) == fails(EBUSY));

        dying.kill();
        CHECK(goes.goes());
        gone.insert(goes.name());
        CHECK(stays.format() == format);
        CHECK(word == 1);
        CHECK(file.record(index, Payload().add(round)) == succeeds(8));
    }
    // No number is given out twice.
    CHECK(gone.size() == rounds);
    CHECK(tracepoints(name) == std::set{stays.name()});
    // libtraceevent takes no name with a dot in it.
    std::vector<std::string> expected;
    for (unsigned round = 0; round < rounds; round++)
        expected.push_back(stays.name() + ": a=" + std::to_string(round));
    CHECK(instance.trace(stays) == expected);
    CHECK(instance.disable(stays) == succeeds());
    REQUIRE(file.unregister(&word, 0) == succeeds());
    file.close();
    CHECK(stays.goes());
}

TEST_CASE("Threads that are the first of their process to register do so at the same time") {
    constexpr unsigned threads = 4;
    const unsigned rounds = fewer(30, 10);
    const Event event(unique_name("first"));
    Word kept{0};
    unsigned failed = 0;
    Child keeping([&](Channel& channel) {
        DataFile file;
        file.index_of(&kept, 0, event.name());
        channel.send('r');
        channel.receive<char>();
        return 0;
    });
    REQUIRE(keeping.channel().receive<char>() == 'r');
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
    keeping.channel().send('e');
    CHECK(keeping.wait() == 0);
}
