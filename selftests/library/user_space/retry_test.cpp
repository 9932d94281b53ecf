// SPDX-License-Identifier: GPL-2.0-only
// What retry() tells.
#include "catch.hpp"
#include "deadline.hpp"
#include "fake_file.hpp"

#include <user_events/user_events.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace selftest;
namespace ue = user_events;

TEST_CASE("retry() tells the error of each event that is not registered") {
    setenv("USER_EVENTS_FILE", "/nowhere", 1);
    const ue::event<"first"> first;
    const ue::log<"second"> second;
    std::vector<std::string> names;
    const auto add = [&](const ue::event_state& each) {
        names.emplace_back(each.name());
        CHECK(each.error == std::errc::no_such_file_or_directory);
    };
    CHECK(ue::retry(add) == std::errc::no_such_file_or_directory);
    CHECK(names == std::vector<std::string>{"second", "first"});
    CHECK(second.error() == std::errc::no_such_file_or_directory);
    names.clear();
    FakeFile file;
    CHECK(!ue::retry(add));
    CHECK(names.empty());
}

TEST_CASE("The function of retry() and for_each_event() may fork") {
    FakeFile file;
    const ue::event<"first"> first;
    file.fail_with(EMFILE);
    const ue::event<"second"> second;
    int status = -1;
    const auto fork_in = [&](const ue::event_state&) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        waitpid(child, &status, 0);
    };
    const pid_t child = fork();
    if (child == 0) {
        // A deadlock ends, too.
        alarm(20);
        ue::for_each_event(fork_in);
        const bool is_forked = status == 0;
        status = -1;
        ue::retry(fork_in);
        // The next one takes the mutex again, which has been unlocked.
        fork_in({});
        const ue::event<"third"> third;
        _exit(is_forked && status == 0 ? 0 : 1);
    }
    int result = -1;
    waitpid(child, &result, 0);
    CHECK(result == 0);
}

TEST_CASE("A file that is missing for a moment is found again after clearenv() and retry()") {
    FakeFile file;
    const ue::event<"number", ue::field<"value", std::uint32_t>> event;
    file.enable("number u32 value");
    clearenv();
    const std::string away = file.path() + "_away";
    REQUIRE(rename(file.path().c_str(), away.c_str()) == 0);
    REQUIRE(close(last_descriptor()) == 0);
    CHECK(eventually([&] {
        event(1u);
        return ue::error() == std::errc::no_such_file_or_directory;
    }));
    CHECK(ue::retry() == std::errc::no_such_file_or_directory);
    REQUIRE(rename(away.c_str(), file.path().c_str()) == 0);
    CHECK(!ue::retry());
    const auto lost = event.lost();
    event(2u);
    CHECK(event.lost() == lost);
    CHECK(file.take().size() == 8);
}

TEST_CASE("USER_EVENTS_DEBUG=1 prints the file, registrations and errors to standard error") {
    FakeFile file;
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    const pid_t child = fork();
    if (child == 0) {
        setenv("USER_EVENTS_DEBUG", "1", 1);
        dup2(ends[1], STDERR_FILENO);
        {
            const ue::event<"spoken", ue::field<"a", int>> spoken;
            file.fail_with(EADDRINUSE);
            const ue::event<"refused"> refused;
        }
        _exit(0);
    }
    close(ends[1]);
    std::string text(4096, ' ');
    std::size_t size = 0;
    for (ssize_t got; (got = read(ends[0], text.data() + size, text.size() - size)) > 0;)
        size += static_cast<std::size_t>(got);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    CHECK(text.substr(0, size) == "user_events: open " + file.path() +
                                      "\n"
                                      "user_events: register spoken s32 a\n"
                                      "user_events: register refused: error " +
                                      std::to_string(EADDRINUSE) +
                                      "\n"
                                      "user_events: unregister spoken s32 a\n");
}
