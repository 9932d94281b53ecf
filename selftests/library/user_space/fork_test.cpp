// SPDX-License-Identifier: GPL-2.0-only
// fork() while another thread is in the library.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/user_events.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace selftest;
namespace ue = user_events;

namespace {

/// Returns whether a child process ends, and its function returns true.
bool in_child(unsigned seconds, const std::function<bool()>& function) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(seconds);
        _exit(function() ? 0 : 1);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

using Number = ue::event<"number", ue::field<"value", std::uint32_t>>;

/// Forks while another thread creates the first event of the process, after a short delay. Returns
/// whether the child can create one, too.
bool fork_at_first_event(int delay) {
    std::atomic<bool> is_ready = false, begins = false, is_over = false;
    std::thread creator([&] {
        is_ready = true;
        while (!begins)
            ;
        for (std::atomic<int> i = 0; i < delay; i++)
            ;
        const Number first;
        while (!is_over)
            std::this_thread::yield();
    });
    while (!is_ready)
        std::this_thread::yield();
    begins = true;
    const bool can_create = in_child(5, [] {
        const ue::event<"another"> another;
        return !another.error();
    });
    is_over = true;
    creator.join();
    return can_create;
}

} // namespace

// This process must not create events before.
TEST_CASE("A child can create events if another thread created the first one during the fork") {
    FakeFile file;
    for (int i = 0; i < 100; i++) {
        CAPTURE(i);
        REQUIRE(in_child(20, [i] { return fork_at_first_event(i * 37 % 100 * 200); }));
    }
}

TEST_CASE("Handlers of fork() that are registered twice do nothing the second time", "[threads]") {
    FakeFile file;
    const Number event;
    // As if two threads had created the first event.
    ue::detail::the_library.forks_are_safe = false;
    const ue::event<"another"> another;
    std::atomic<bool> stop = false;
    std::thread creator([&] {
        while (!stop)
            const Number next;
    });
    for (int i = 0; i < 100; i++)
        REQUIRE(in_child(20, [] {
            const Number next;
            return !next.error();
        }));
    stop = true;
    creator.join();
}
