// SPDX-License-Identifier: GPL-2.0-only
// The header for C programs, with a fake user_events_data.
#include "catch.hpp"
#include "fake_file.hpp"

// A program may declare the structure in its own headers.
struct user_event;
void unregister_elsewhere(struct user_event* event);

#include <user_events/user_events.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace selftest;

void unregister_elsewhere(struct user_event* event) {
    user_event_unregister(event);
}

#define ORDER(FIELD) FIELD(u8, size) FIELD(text, item) FIELD(s64, cents) FIELD(text, name)
USER_EVENT_DEFINE(order, ORDER)

namespace {

Payload record_of(std::uint32_t index = 0) {
    return Payload().add(index);
}

constexpr const char* tick = "tick u32 count";

/// Also for children of fork, which must not report checks.
bool write_count(user_event& event, std::uint32_t count) {
    errno = EXDEV;
    const int error = user_event_write(&event, &count, sizeof(count));
    if (errno != EXDEV)
        throw std::runtime_error("user_event_write() has changed errno");
    return error == 0;
}

std::ptrdiff_t open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
}

void wait_for_next_epoch() {
    const std::uint32_t epoch = user_events_epoch();
    while (user_events_epoch() == epoch)
        std::this_thread::yield();
}

int in_child(const std::function<bool()>& function) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(function() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

/// Calls a function in a child of clone(), which handlers of fork() do not know of. Returns its
/// state in wait().
template <typename Function>
int child_of_clone(int flags, Function function) {
    const long child = syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0L);
    if (child == 0)
        _exit(getpid() == 1 ? function() : 100);
    int status = -1;
    waitpid(static_cast<pid_t>(child), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

} // namespace

TEST_CASE("The C header registers, tests and writes one event") {
    FakeFile file;
    user_event event = USER_EVENT_INIT;
    const std::uint32_t count = 5;
    CHECK(user_event_write(&event, &count, sizeof(count)) == EBADF);
    REQUIRE(user_event_register(&event, "tick u32 count") == 0);
    CHECK(user_event_register(&event, "tick u32 count") == EBUSY);
    CHECK(!user_event_enabled(&event));
    file.enable("tick u32 count");
    CHECK(user_event_enabled(&event));
    CHECK(user_event_write(&event, &count, sizeof(count)) == 0);
    CHECK(file.take() == record_of().add(count).bytes());
    const std::string large(3000, 'x');
    CHECK(user_event_write(&event, large.data(), large.size()) == 0);
    CHECK(file.take().size() == 3004);
    unregister_elsewhere(&event);
    CHECK(!user_event_enabled(&event));
    CHECK(registrations() == 0);
    CHECK(user_event_write(&event, &count, sizeof(count)) == EBADF);
    user_event_unregister(&event);
}

TEST_CASE("The C header says why an event cannot be registered") {
    setenv("USER_EVENTS_FILE", "/nowhere", 1);
    user_event event = USER_EVENT_INIT;
    CHECK(user_event_register(&event, "tick u32 count") == ENOENT);
    setenv("USER_EVENTS_FILE", "/dev/null", 1);
    CHECK(user_event_register(&event, "tick u32 count") == ENOTTY);
    unsetenv("USER_EVENTS_FILE");
    FakeFile file;
    CHECK(user_event_register(&event, "tick u32 count") == 0);
    user_event_unregister(&event);
}

TEST_CASE("The events of the C header have one file, which is closed with the last one") {
    const std::ptrdiff_t before = open_files();
    {
        FakeFile file;
        std::vector<user_event> events(1000, user_event USER_EVENT_INIT);
        const std::ptrdiff_t without = open_files();
        for (user_event& event : events)
            REQUIRE(user_event_register(&event, tick) == 0);
        CHECK(open_files() == without + 1);
        CHECK(registrations(tick) == 1000);
        file.enable(tick);
        CHECK(write_count(events.front(), 1));
        for (user_event& event : events)
            user_event_unregister(&event);
        CHECK(open_files() == without);
        REQUIRE(user_event_register(&events.front(), tick) == 0);
        CHECK(write_count(events.front(), 1));
        user_event_unregister(&events.front());
    }
    CHECK(open_files() == before);
}

// Another thread may be about to write a record of an event that was unregistered meanwhile.
TEST_CASE("The next file of the C header does not get the number of the one that was closed") {
    FakeFile file;
    user_event event = USER_EVENT_INIT;
    int before = -1;
    for (int i = 0; i < 4; i++) {
        REQUIRE(user_event_register(&event, tick) == 0);
        CHECK(last_descriptor() != before);
        before = last_descriptor();
        user_event_unregister(&event);
    }
}

TEST_CASE("The C header passes flags on") {
    FakeFile file;
    user_event event = USER_EVENT_INIT;
    // The fake, like the kernel, refuses unknown flags.
    CHECK(user_event_register_flags(&event, tick, 4) == EINVAL);
    CHECK(user_event_register_flags(&event, tick, USER_EVENTS_MULTI_FORMAT) == 0);
    user_event_unregister(&event);
}

TEST_CASE("The C header opens a lost file again, and does not write to one with its number") {
    FakeFile file;
    user_event first = USER_EVENT_INIT, second = USER_EVENT_INIT;
    REQUIRE(user_event_register(&first, tick) == 0);
    REQUIRE(user_event_register(&second, "tock u32 count") == 0);
    file.enable(tick);
    file.enable("tock u32 count");
    const int number = last_descriptor();
    const int other = open("/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    REQUIRE(dup2(other, number) == number);
    wait_for_next_epoch();
    CHECK(write_count(first, 1));
    CHECK(write_count(second, 2));
    CHECK(file.take() ==
          record_of(0).add<std::uint32_t>(1).add<std::uint32_t>(1).add<std::uint32_t>(2).bytes());
    CHECK(last_descriptor() != number);
    struct stat status;
    fstat(other, &status);
    CHECK(status.st_size == 0);
    CHECK(registrations() == 2);
    // Closed in the epoch of the last check.
    close(last_descriptor());
    CHECK(write_count(first, 1));
    CHECK(write_count(second, 2));
    CHECK(file.take().size() == 16);
    user_event_unregister(&first);
    user_event_unregister(&second);
    CHECK(registrations() == 0);
    close(number);
    close(other);
}

TEST_CASE("A C program whose file cannot be opened again is told") {
    FakeFile file;
    user_event event = USER_EVENT_INIT;
    REQUIRE(user_event_register(&event, tick) == 0);
    file.enable(tick);
    const std::string away = file.path() + "_away";
    std::filesystem::rename(file.path(), away);
    close(last_descriptor());
    CHECK(!write_count(event, 1));
    CHECK(!write_count(event, 1));
    std::filesystem::rename(away, file.path());
    wait_for_next_epoch();
    // It was registered with the lost file, and is still enabled.
    CHECK(write_count(event, 1));
    CHECK(file.take().size() == 8);
    user_event_unregister(&event);
}

TEST_CASE("A C program that clears its environment keeps its file") {
    FakeFile file;
    user_event event = USER_EVENT_INIT;
    REQUIRE(user_event_register(&event, tick) == 0);
    file.enable(tick);
    unsetenv("USER_EVENTS_FILE");
    close(last_descriptor());
    CHECK(write_count(event, 1));
    CHECK(file.take().size() == 8);
    user_event_unregister(&event);
}

TEST_CASE("A child writes events of the C header, also if another thread registers at the fork") {
    FakeFile file;
    user_event event = USER_EVENT_INIT;
    REQUIRE(user_event_register(&event, tick) == 0);
    file.enable(tick);
    CHECK(in_child([&] {
              closefrom(3);
              return write_count(event, 1);
          }) == 0);
    CHECK(file.take().size() == 8);
    // As the child sees it if a thread of the parent has the lock.
    USER_EVENTS_SHARED.lock = user_events_process();
    CHECK(in_child([&] {
              close(last_descriptor());
              return write_count(event, 1);
          }) == 0);
    CHECK(file.take().size() == 8);
    // A signal handler must not wait for its own thread.
    close(last_descriptor());
    CHECK(!write_count(event, 1));
    USER_EVENTS_SHARED.lock = 0;
    CHECK(write_count(event, 1));
    user_event_unregister(&event);
}

TEST_CASE("A child of the number 1 takes over the lock of its parent, which has the number 1 too") {
    FakeFile file;
    const int user_space = getuid() == 0 ? 0 : CLONE_NEWUSER;
    CHECK(child_of_clone(CLONE_NEWPID | user_space, [] {
              // As if another thread had it.
              user_events_shared_lock(0);
              return child_of_clone(CLONE_NEWPID, [] {
                  user_event event = USER_EVENT_INIT;
                  // The default action does not end a process of the number 1.
                  signal(SIGALRM, [](int) { _exit(101); });
                  alarm(10);
                  return user_event_register(&event, tick);
              });
          }) == 0);
}

TEST_CASE("An event of the C header is unregistered while another thread records it") {
    FakeFile file;
    file.enable(tick);
    const std::ptrdiff_t without = open_files();
    user_event event = USER_EVENT_INIT;
    std::atomic<bool> stop{false};
    std::thread recorder([&] {
        while (!stop)
            write_count(event, 1);
    });
    int errors = 0;
    for (int i = 0; i < 1000; i++) {
        errors += user_event_register(&event, tick) != 0;
        user_event_unregister(&event);
        file.take();
    }
    CHECK(errors == 0);
    stop = true;
    recorder.join();
    CHECK(registrations() == 0);
    CHECK(open_files() == without);
}

TEST_CASE("A C program is told if the kernel keeps a registration") {
    FakeFile file;
    file.enable(tick);
    const std::ptrdiff_t without = open_files();
    user_event event = USER_EVENT_INIT;
    REQUIRE(user_event_register(&event, tick) == 0);
    file.keep_registrations(EMFILE);
    CHECK(user_event_unregister(&event) == EMFILE);
    CHECK(registrations() == 1);
    // It is still registered, and recorded.
    CHECK(user_event_register(&event, tick) == EBUSY);
    CHECK(write_count(event, 1));
    CHECK(file.take().size() == 8);
    const std::string away = file.path() + "_away";
    std::filesystem::rename(file.path(), away);
    close(last_descriptor());
    wait_for_next_epoch();
    CHECK(user_event_unregister(&event) == ENOENT);
    std::filesystem::rename(away, file.path());
    file.keep_registrations(0);
    CHECK(user_event_unregister(&event) == 0);
    CHECK(registrations() == 0);
    CHECK(open_files() == without);
    CHECK(user_event_unregister(&event) == 0);
}

TEST_CASE("A C program gets no error for a record of an event that the kernel is disabling") {
    FakeFile file;
    user_event event = USER_EVENT_INIT;
    REQUIRE(user_event_register(&event, tick) == 0);
    file.enable(tick);
    file.refuse_records(last_descriptor());
    const std::uint32_t count = 5;
    CHECK(user_event_write(&event, &count, sizeof(count)) == 0);
    const std::string large(3000, 'x');
    CHECK(user_event_write(&event, large.data(), large.size()) == 0);
    user_event_unregister(&event);
}

TEST_CASE("The C header registers and unregisters an event although the file is closed meanwhile") {
    FakeFile file;
    user_event event = USER_EVENT_INIT;
    file.close_before_ioctl(2);
    REQUIRE(user_event_register(&event, tick) == 0);
    file.close_before_ioctl(2);
    CHECK(user_event_unregister(&event) == 0);
    CHECK(registrations() == 0);
}

TEST_CASE("The fields of an event of the C header are listed once") {
    FakeFile file;
    REQUIRE(order_register() == 0);
    REQUIRE(commands() ==
            std::vector<std::string>{
                "order u8 size;__rel_loc char[] item;s64 cents;__rel_loc char[] name"});
    file.enable(commands()[0]);
    CHECK(order_record({.size = 3, .item = "tea", .cents = -5, .name = nullptr}) == 0);
    CHECK(file.take() == record_of()
                             .add<std::uint8_t>(3)
                             .add(location(12, 4))
                             .add<std::int64_t>(-5)
                             .add(location(4, 1))
                             .add_string("tea")
                             .add_string("")
                             .bytes());
    const std::string large(5000, 'x');
    CHECK(order_record({.size = 3, .item = large.c_str(), .cents = 0, .name = "x"}) == E2BIG);
    CHECK(order_unregister() == 0);
    REQUIRE(order_register() == 0);
    CHECK(order_unregister() == 0);
}

TEST_CASE("The C header begins and ends slices") {
    FakeFile file;
    user_event work = USER_EVENT_INIT;
    REQUIRE(user_event_register(&work, USER_EVENT_SLICES("work")) == 0);
    CHECK(user_event_slice(&work, 'B', "cook") == 0);
    CHECK(file.take().empty());
    file.enable(USER_EVENT_SLICES("work"));
    CHECK(user_event_slice(&work, 'B', "cook") == 0);
    const std::uint32_t name = 5 << 16 | (8 + 9), track = 1 << 16 | (8 + 14);
    CHECK(file.take() ==
          record_of().add('B').add(name).add(track).add_string("cook").add_string("").bytes());
    CHECK(user_event_slice(&work, 'E', nullptr) == 0);
    CHECK(file.take().size() == 4 + 9 + 2);
    user_event_unregister(&work);
}
