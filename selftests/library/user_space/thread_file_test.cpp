// SPDX-License-Identifier: GPL-2.0-only
// Threads with files of their own, with a fake user_events_data.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/user_events.hpp>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace selftest;
namespace ue = user_events;

namespace {

using Number = ue::event<"number", ue::field<"value", std::uint64_t>>;
constexpr const char* number = "number u64 value";

Bytes record(std::uint64_t value, std::uint32_t index = 0) {
    return Payload().add(index).add(value).bytes();
}

bool is_open(int descriptor) {
    return fcntl(descriptor, F_GETFD) >= 0;
}

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

} // namespace

TEST_CASE("A thread with a file writes through it, and nothing is registered again") {
    FakeFile file;
    Number event;
    file.enable(number);
    const int common = last_descriptor();
    const ue::thread_file own;
    CHECK(!own.error());
    const int descriptor = last_descriptor();
    REQUIRE(descriptor != common);
    CHECK(fcntl(descriptor, F_GETFD) == FD_CLOEXEC);
    // An event that went through the other file would open it again. The next one checks the file.
    close(common);
    const std::uint32_t epoch = user_events_epoch();
    while (user_events_epoch() == epoch)
        std::this_thread::yield();
    errno = 0;
    event(1);
    CHECK(errno == 0);
    CHECK(file.take() == record(1));
    CHECK(last_descriptor() == descriptor);
    CHECK(event.lost() == 0);
}

TEST_CASE("Long records and those of events that were made at run time use a thread's file too") {
    FakeFile file;
    ue::event<"text", ue::field<"text", std::string_view>> text;
    auto numbers = ue::dynamic_event::create("number", {{"value", ue::field_type::u64}});
    REQUIRE(numbers);
    file.enable("text __rel_loc char[] text");
    file.enable(number);
    const int common = last_descriptor();
    const ue::thread_file own;
    const int descriptor = last_descriptor();
    close(common);
    text(std::string(3000, 'x'));
    CHECK(file.take().size() == 4 + 4 + 3001);
    CHECK(!numbers->write({std::uint64_t{1}}));
    CHECK(file.take().size() == 4 + 8);
    CHECK(last_descriptor() == descriptor);
}

TEST_CASE("Other threads write through the file of all") {
    FakeFile file;
    Number event;
    file.enable(number);
    const ue::thread_file own;
    const int descriptor = last_descriptor();
    close(descriptor);
    std::thread([&] { event(1); }).join();
    CHECK(file.take() == record(1));
    CHECK(last_descriptor() == descriptor);
    CHECK(event.lost() == 0);
}

TEST_CASE("A thread's file is closed with its object") {
    FakeFile file;
    Number event;
    file.enable(number);
    auto first = std::make_unique<ue::thread_file>();
    const int first_descriptor = last_descriptor();
    auto second = std::make_unique<ue::thread_file>();
    const int second_descriptor = last_descriptor();
    REQUIRE(first_descriptor != second_descriptor);
    first.reset();
    CHECK(!is_open(first_descriptor));
    CHECK(is_open(second_descriptor));
    event(1);
    second.reset();
    CHECK(!is_open(second_descriptor));
    event(2);
    CHECK(file.take().size() == 2 * record(1).size());
    CHECK(event.lost() == 0);
}

TEST_CASE("Where the kernel cannot share indexes, a thread writes through the file of all") {
    FakeFile file;
    file.refuse_to_share();
    Number event;
    file.enable(number);
    const auto before = open_files();
    const ue::thread_file own;
    CHECK(own.error() == std::errc::inappropriate_io_control_operation);
    CHECK(open_files() == before);
    const int descriptor = last_descriptor();
    event(1);
    CHECK(file.take() == record(1));
    CHECK(last_descriptor() == descriptor);
    CHECK(event.lost() == 0);
}

TEST_CASE("A thread without a descriptor left writes through the file of all") {
    FakeFile file;
    Number event;
    file.enable(number);
    rlimit before;
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit none{0, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    const ue::thread_file own;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(own.error() == std::errc::too_many_files_open);
    event(1);
    CHECK(file.take() == record(1));
}

TEST_CASE("A thread's file may be older than the events") {
    FakeFile file;
    const ue::thread_file own;
    CHECK(own.error() == std::errc::resource_unavailable_try_again);
    for (int i = 1; i <= 2; i++) {
        Number event;
        file.enable(number);
        const int common = last_descriptor();
        event(static_cast<std::uint64_t>(i));
        CHECK(!own.error());
        CHECK(last_descriptor() != common);
        CHECK(file.take() == record(static_cast<std::uint64_t>(i)));
    }
}

TEST_CASE("Where events are switched off, a thread has no file") {
    FakeFile file;
    setenv("USER_EVENTS", "off", 1);
    Number event;
    const ue::thread_file own;
    CHECK(own.error() == std::errc::operation_canceled);
    unsetenv("USER_EVENTS");
    CHECK(!ue::retry());
    file.enable(number);
    event(1);
    CHECK(!own.error());
    CHECK(file.take() == record(1));
}

TEST_CASE("A thread's file that was closed is opened again") {
    FakeFile file;
    Number event;
    file.enable(number);
    const ue::thread_file own;
    const int common = last_descriptor() - 1, descriptor = last_descriptor();
    const bool both = GENERATE(false, true);
    if (both)
        close(common);
    close(descriptor);
    for (std::uint64_t i = 1; i <= 3; i++) {
        event(i);
        CHECK(file.take() == record(i));
    }
    CHECK(event.lost() == 0);
    // At the latest in the next epoch.
    const auto epoch = user_events_epoch();
    while (user_events_epoch() - epoch < 2)
        ;
    event(4);
    event(5);
    CHECK(file.take().size() == 2 * record(1).size());
    CHECK(!own.error());
    const auto files = open_files();
    close(last_descriptor());
    CHECK(open_files() == files - 1);
}

TEST_CASE("After the file was lost, a thread with a file records no event as another one") {
    FakeFile file;
    Number event;
    ue::event<"order", ue::field<"number", std::uint64_t>> order;
    file.enable(number);
    file.enable("order u64 number");
    const ue::thread_file own;
    const int common = last_descriptor() - 1;
    close(last_descriptor());
    close(common);
    for (std::uint64_t i = 1; i <= 3; i++) {
        // The first record registers this event with the new file; the other event is not yet.
        event(i);
        CHECK(file.take() == record(i));
    }
    CHECK(!own.error());
    for (std::uint64_t i = 1; i <= 3; i++) {
        order(i);
        CHECK(file.take() == record(i, 1));
    }
    CHECK(order.lost() == 0);
}

TEST_CASE("Nothing is written to another file that took the number of a thread's file") {
    FakeFile file;
    Number event;
    file.enable(number);
    const ue::thread_file own;
    const int descriptor = last_descriptor();
    const auto epoch = user_events_epoch();
    int other[2];
    REQUIRE(pipe2(other, O_NONBLOCK) == 0);
    REQUIRE(dup2(other[1], descriptor) == descriptor);
    while (user_events_epoch() - epoch < 2)
        ;
    event(1);
    CHECK(file.take() == record(1));
    char byte;
    CHECK(read(other[0], &byte, 1) == -1);
    CHECK(is_open(descriptor));
    for (const int each : {other[0], other[1], descriptor})
        close(each);
}

TEST_CASE("exit() in another thread destroys the file of a thread that is static", "[threads]") {
    FakeFile file;
    // Otherwise exit() writes what the test has not written yet.
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        static const ue::thread_file own;
        std::thread([] { exit(0); }).join();
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("A child has the file of the thread that forked") {
    FakeFile file;
    Number event;
    file.enable(number);
    const int common = last_descriptor();
    const ue::thread_file own;
    const int descriptor = last_descriptor();
    const pid_t child = fork();
    if (child == 0) {
        close(common);
        event(1);
        _exit(last_descriptor() == descriptor && event.lost() == 0 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(file.take() == record(1));
}

TEST_CASE("Threads create files while others record, open the file of all anew, and fork") {
    FakeFile file;
    Number event;
    file.enable(number);
    const int common = last_descriptor();
    const auto before = open_files();
    close(common);
    std::atomic<int> written = 0, taken = 0;
    {
        std::vector<std::jthread> threads;
        threads.reserve(5);
        for (int i = 0; i < 4; i++)
            threads.emplace_back([&] {
                for (int round = 0; round < 50; round++) {
                    const ue::thread_file own;
                    for (int each = 0; each < 5; each++) {
                        event(7);
                        written++;
                    }
                }
            });
        threads.emplace_back([&] {
            for (int round = 0; round < 20; round++) {
                const pid_t child = fork();
                if (child == 0) {
                    // Does not wait for a mutex of a thread that the child does not have.
                    const ue::thread_file own;
                    _exit(own.error().value() == EAGAIN ? 0 : own.error().value());
                }
                int status = -1;
                waitpid(child, &status, 0);
                if (status)
                    std::abort();
            }
        });
        while (taken < 4 * 50 * 5 - static_cast<int>(event.lost()))
            taken += static_cast<int>(file.take().size() / record(7).size());
    }
    CHECK(written == 4 * 50 * 5);
    // A record may be lost in the epoch in which the file of all was closed.
    CHECK(taken + static_cast<int>(event.lost()) == written);
    CHECK(open_files() == before);
}
