// SPDX-License-Identifier: GPL-2.0-only
// An unprivileged user with access to the file cannot exhaust the events, time or memory of others.
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "median.hpp"
#include "module.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

constexpr uid_t attacker_uid = unprivileged_uid, victim_uid = unprivileged_uid - 1;

/// How many events an attacker can create: the default limit, or less on the slow debug kernel.
unsigned long events_of_user() {
    return fewer_if_debug(8192);
}

/// Gives all users access to a file for the lifetime of the object.
class Opened {
public:
    Opened(std::string path, mode_t mode) : path_(std::move(path)) {
        struct stat status;
        if (stat(path_.c_str(), &status) != 0 || chmod(path_.c_str(), mode) != 0)
            throw_errno("chmod " + path_);
        before_ = status.st_mode & 07777;
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    ~Opened() { chmod(path_.c_str(), before_); }

private:
    const std::string path_;
    mode_t before_;
};

/// Registers the nth format of a name with its own file, which the caller closes.
Outcome register_format(DataFile& file, Word& word, const std::string& name, std::size_t n) {
    return file.register_event(&word, 0, name + " u32 a_" + std::to_string(n), 4,
                               USER_EVENT_REG_MULTI_FORMAT);
}

/// An unprivileged process that has `count` formats of one name, and keeps creating and removing
/// further ones.
class FormatAttacker {
public:
    explicit FormatAttacker(std::size_t count)
        : child_([count](Channel& channel) {
              become_user(attacker_uid);
              const std::string name = unique_name("formats");
              std::vector<Word> words(count);
              Word word{0};
              DataFile keeping;
              for (std::size_t n = 0; n < count; n++)
                  expect(register_format(keeping, words[n], name, n), "register a format");
              channel.send('r');
              for (std::size_t n = count;; n++) {
                  DataFile file;
                  expect(register_format(file, word, name, n), "register a further format");
                  expect(file.unregister(&word, 0), "unregister");
                  file.close();
                  // Leaves the CPU to the victim, which otherwise waits for the scheduler.
                  std::this_thread::sleep_for(300us);
              }
              return 0;
          }) {
        child_.channel().receive<char>();
    }

    void kill() { child_.kill(); }

private:
    Child child_;
};

/// How long an operation of a user's program takes.
struct Durations {
    Clock::duration registering, enabling, writing, exiting;
};

Durations run_victim(const Event& event) {
    Durations taken{};
    const auto measure = [](auto&& operation) {
        const auto start = Clock::now();
        operation();
        return Clock::now() - start;
    };
    Word word{0};
    DataFile file;
    Child child([&](Channel& channel) {
        become_user(victim_uid);
        std::uint32_t index = 0;
        channel.send(measure([&] { index = file.must_register(&word, 0, event.name()); }));
        channel.receive<char>();
        channel.send(measure([&] {
            for (int i = 0; i < 100; i++)
                expect(file.record(index), "write");
        }));
        channel.receive<char>();
        return 0;
    });
    taken.registering = child.channel().receive<Clock::duration>();
    taken.enabling = measure([&] { expect(event.enable(), "enable"); });
    taken.writing = child.channel().ask<Clock::duration>('w');
    taken.enabling += measure([&] { expect(event.disable(), "disable"); });
    taken.exiting = measure([&] {
        child.kill();
        file.close();
    });
    return taken;
}

/// Returns the medians of many runs.
Durations run_victims() {
    std::vector<Clock::duration> registering, enabling, writing, exiting;
    const Event event(unique_name("victim"));
    // Enabling the first event and disabling the last one patch kernel code, which is slow.
    const Event other(unique_name("enabled"));
    Word word{0};
    DataFile file;
    file.must_register(&word, 0, other.name());
    const Enabled enabled{other};
    for (unsigned round = 0; round < fewer_if_debug(100); round++) {
        const Durations taken = run_victim(event);
        registering.push_back(taken.registering);
        enabling.push_back(taken.enabling);
        writing.push_back(taken.writing);
        exiting.push_back(taken.exiting);
    }
    return {median(registering), median(enabling), median(writing), median(exiting)};
}

} // namespace

TEST_CASE("Other users can create events after one user has reached its limit") {
    Setting limit("/proc/sys/kernel/user_events_max_per_user");
    limit.set(std::to_string(events_of_user()));
    const std::string name = unique_name("squatter");
    const unsigned flags = GENERATE(0, USER_EVENT_REG_MULTI_FORMAT);
    CAPTURE(flags);
    Word word{0};
    DataFile file, other;
    const unsigned long before = stable_status_count("Active: ");
    {
        Child attacker([&](Channel& channel) {
            become_user(attacker_uid);
            std::vector<Word> words(2 * events_of_user());
            Outcome outcome = succeeds();
            for (std::size_t n = 0; n < words.size() && outcome.ok(); n++)
                outcome = file.register_event(&words[n], 0, name + std::to_string(n), 4, flags);
            channel.send(outcome.error());
            channel.receive<char>();
            return 0;
        });
        CHECK(attacker.channel().receive<int>() == EMFILE);
        CHECK(status_count("Active: ") == before + events_of_user());
        const Event event(unique_name("other"));
        CHECK(in_child([&] {
                  become_user(victim_uid);
                  return other.register_event(&word, 0, event.name()).error();
              }) == 0);
        const Enabled enabled{event};
        CHECK(status_line(event.name()) == event.name() + " # Used by ftrace");
    }
    file.close();
    other.close();
    CHECK(eventually([&] { return status_count("Active: ") == before; }));
}

TEST_CASE("A user with many formats of one name slows others down by less than a factor of 5") {
    const Opened directory(tracing_file(""), 0711);
    const Opened file(tracing_file("user_events_data"), 0666);
    const auto slowdown = [](Clock::duration few, Clock::duration many) {
        return static_cast<double>(many.count()) / static_cast<double>(few.count());
    };
    // The same attack with few formats, so that both compete for the CPUs in the same way.
    FormatAttacker weak(10);
    const Durations few = run_victims();
    weak.kill();
    FormatAttacker strong(events_of_user() - 1);
    const Durations many = run_victims();
    strong.kill();
    CHECK(slowdown(few.registering, many.registering) < 5);
    CHECK(slowdown(few.enabling, many.enabling) < 5);
    CHECK(slowdown(few.writing, many.writing) < 5);
    CHECK(slowdown(few.exiting, many.exiting) < 5);
}

TEST_CASE("Payloads that no recorder can hold are refused before the kernel reads their memory") {
    constexpr unsigned writers = 32;
    const Event event(unique_name("large"));
    Word word{0};
    DataFile file;
    const std::uint32_t index = file.must_register(&word, 0, event.name());
    const Enabled enabled{event};
    struct Result {
        unsigned refused;
        bool memory_was_read;
    };
    Child child([&](Channel& channel) -> int {
        static constexpr std::size_t sizes[] = {5000, 9000, 65536, 1 << 20};
        Mapping memory(sizes[3] / page_size);
        Word own{0};
        DataFile data;
        std::uint32_t own_index = data.must_register(&own, 0, event.name());
        const Userfault fault(memory);
        become_user(unprivileged_uid);
        std::atomic<unsigned> refused{0}, ended{0};
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < writers; i++)
            threads.emplace_back([&] {
                for (std::size_t size : sizes) {
                    iovec parts[] = {{&own_index, sizeof(own_index)}, {memory.at(), size}};
                    refused += Outcome::of(writev(data.descriptor(), parts, 2)) == fails(E2BIG);
                }
                ended++;
            });
        eventually([&] { return ended == writers || fault.has_waiter(); });
        channel.send(Result{refused / static_cast<unsigned>(std::size(sizes)), fault.has_waiter()});
        channel.receive<char>();
        // Some threads may wait.
        _exit(0);
    });
    const auto result = child.channel().receive<Result>();
    CHECK(result.refused == writers);
    CHECK_FALSE(result.memory_was_read);
    CHECK(file.record(index) == succeeds(4));
    child.channel().send('e');
    CHECK(child.wait() == 0);
}
