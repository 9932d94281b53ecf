// SPDX-License-Identifier: GPL-2.0-only
// A program with threads that closes all its descriptors, and uses the numbers for other files.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/user_events.hpp>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace selftest;
namespace ue = user_events;

namespace {
std::atomic<int> fcntl_calls{0};
} // namespace

/// Counts the calls: each check of a file makes one.
extern "C" int fcntl(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    const long argument = va_arg(arguments, long);
    va_end(arguments);
    fcntl_calls++;
    return static_cast<int>(syscall(SYS_fcntl, descriptor, command, argument));
}

namespace {

using Number = ue::event<"number", ue::field<"value", std::uint64_t>>;
constexpr const char* number = "number u64 value";

void set_limit(rlim_t files) {
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = files;
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/// Returns what a child process of one thread returns; it also ends after some time.
int in_child(FakeFile& file, const std::function<int()>& function) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(function());
    }
    int status = 0;
    // A full FIFO would refuse records.
    while (waitpid(child, &status, WNOHANG) == 0)
        file.take();
    file.take();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/// Closes all descriptors while another thread records, and opens 150 files. Returns how many bytes
/// the last one got.
int size_of_opened_files(const Number& event, const std::string& path) {
    std::atomic<bool> stop{false};
    std::atomic<unsigned> recorded{0};
    std::thread recorder([&] {
        while (!stop) {
            event(1);
            recorded++;
        }
    });
    while (recorded < 10)
        std::this_thread::yield();
    closefrom(3);
    int last = -1;
    for (int i = 0; i < 150; i++)
        last = open(path.c_str(), O_RDWR | O_CLOEXEC);
    const unsigned before = recorded;
    while (recorded < before + 10)
        std::this_thread::yield();
    stop = true;
    recorder.join();
    struct stat status;
    return fstat(last, &status) == 0 && status.st_size < 100 ? static_cast<int>(status.st_size)
                                                             : 100;
}

} // namespace

TEST_CASE("After closefrom() and 150 opens in another thread, no other file gets records") {
    FakeFile file;
    const Number event;
    REQUIRE(!event.error());
    file.enable(number);
    const std::string path = file.path() + "_other";
    close(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    for (int i = 0; i < 20; i++)
        CHECK(in_child(file, [&] { return size_of_opened_files(event, path); }) == 0);
    unlink(path.c_str());
}

TEST_CASE("A child of fork() can open the device of marks, whatever other threads did",
          "[threads]") {
    // Each retry() tries to open it.
    const ue::marker mark("/none");
    std::atomic<bool> stop = false;
    std::thread opener([&] {
        while (!stop)
            mark.retry();
    });
    for (int i = 0; i < 100; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(mark.retry() == std::errc::no_such_file_or_directory ? 0 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(status == 0);
    }
    stop = true;
    opener.join();
}

TEST_CASE("No record is lost after closefrom() while another thread creates events") {
    FakeFile file;
    const Number event;
    file.enable(number);
    CHECK(in_child(file, [&] {
              std::atomic<bool> stop{false};
              std::atomic<unsigned> created{0};
              std::thread creator([&] {
                  while (!stop) {
                      const ue::event<"order", ue::field<"number", std::uint32_t>> order;
                      created++;
                  }
              });
              for (unsigned round = 1; round <= 20; round++) {
                  while (created < round)
                      std::this_thread::yield();
                  closefrom(3);
                  for (int i = 0; i < 100; i++)
                      event(1);
              }
              stop = true;
              creator.join();
              return static_cast<int>(event.lost());
          }) == 0);
}

TEST_CASE("A program that clears its environment and closes all descriptors keeps its file") {
    FakeFile file;
    const Number event;
    const ue::marker mark(file.path().c_str());
    file.enable(number);
    CHECK(in_child(file, [&] {
              unsetenv("USER_EVENTS_FILE");
              setenv("USER_EVENTS", "off", 1);
              closefrom(3);
              for (int i = 0; i < 3; i++)
                  event(1);
              return mark("mark") ? 100 : static_cast<int>(event.lost());
          }) == 0);
}

TEST_CASE(
    "After closefrom(), the device of marks does not get the number that events are written to") {
    rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    set_limit(8000);
    FakeFile file;
    const std::string marks = file.path() + "_marks";
    close(open(marks.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    {
        const ue::marker mark(marks.c_str());
        const Number event;
        file.enable(number);
        CHECK(in_child(file, [&] {
                  struct stat status;
                  for (int i = 0; i < 100; i++) {
                      mark("before");
                      event(1);
                      closefrom(3);
                      mark("after");
                      event(2);
                      // A mark is written at the beginning of the file that was opened again.
                      if (stat(marks.c_str(), &status) != 0 || status.st_size > 11)
                          return 200;
                  }
                  return static_cast<int>(event.lost());
              }) == 0);
    }
    unlink(marks.c_str());
    setrlimit(RLIMIT_NOFILE, &before);
}

TEST_CASE("A record that the kernel refuses while it disables the event is not lost") {
    FakeFile file;
    const Number event;
    const ue::event<"order", ue::field<"item", std::string_view>> order;
    file.enable(number);
    file.enable("order __rel_loc char[] item");
    file.refuse_records(last_descriptor());
    event(1);
    order("tea");
    order(std::string(3000, 'x'));
    CHECK(event.lost() + order.lost() == 0);
    auto dynamic = ue::dynamic_event::create("order", {{"item", ue::field_type::text}});
    REQUIRE(dynamic);
    CHECK(!dynamic->write({"tea"}));
    CHECK(dynamic->lost() == 0);
}

TEST_CASE("An event is registered and unregistered although the file is closed meanwhile") {
    FakeFile file;
    const std::uint32_t kept = ue::kept();
    {
        file.close_before_ioctl(2);
        const Number event;
        CHECK(!event.error());
        file.close_before_ioctl(2);
    }
    CHECK(registrations() == 0);
    CHECK(ue::kept() == kept);
}

TEST_CASE("An event whose lost file is not there any more is counted as kept by the kernel") {
    FakeFile file;
    const std::uint32_t kept = ue::kept();
    {
        const Number event;
        REQUIRE(!event.error());
        unlink(file.path().c_str());
        file.close_before_ioctl(1);
    }
    CHECK(ue::kept() == kept + 1);
}

TEST_CASE("The file is not checked for each of 50 events that are destroyed") {
    FakeFile file;
    std::deque<Number> events(50);
    REQUIRE(registrations() == 50);
    fcntl_calls = 0;
    events.clear();
    CHECK(registrations() == 0);
    // Each check is valid for some milliseconds.
    CHECK(fcntl_calls < 25);
}
