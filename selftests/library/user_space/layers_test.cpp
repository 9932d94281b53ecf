// SPDX-License-Identifier: GPL-2.0-only
// What is built on events, with a fake user_events_data: dynamic events, slices, counters, logs,
// marks, and the header for C.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/spdlog_sink.hpp>
#include <user_events/user_events.hpp>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spdlog/logger.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace selftest;
namespace ue = user_events;

namespace {

/// Starts what a record begins with.
Payload record_of(std::uint32_t index = 0) {
    return Payload().add(index);
}

constexpr std::uint8_t number_of(ue::level level) {
    return static_cast<std::uint8_t>(level);
}

/// From now on, all system calls but the one that ends the process kill it.
void allow_only_exit() {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const sock_fprog program = {std::size(code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(1);
}

} // namespace

TEST_CASE("A dynamic event records the values of its fields") {
    FakeFile file;
    auto event = ue::dynamic_event::create("dynamic", {{"a", ue::field_type::s8},
                                                       {"b", ue::field_type::u64},
                                                       {"c", ue::field_type::text},
                                                       {"d", ue::field_type::f64},
                                                       {"e", ue::field_type::bytes}});
    REQUIRE(event);
    const std::string command =
        "dynamic s8 a;u64 b;__rel_loc char[] c;struct f64 d 8;__rel_loc u8[] e";
    CHECK(event->command() == command);
    CHECK(!event->error());
    const std::byte bytes[] = {std::byte{9}};
    const auto write = [&] {
        return event->write({-1, 2u, "text", 1.5, std::span<const std::byte>(bytes)});
    };
    CHECK(!write());
    CHECK(file.take().empty());
    file.enable(command);
    CHECK(*event);
    CHECK(!write());
    CHECK(file.take() == record_of()
                             .add<std::int8_t>(-1)
                             .add<std::uint64_t>(2)
                             .add(location(12, 5))
                             .add(1.5)
                             .add(location(5, 1))
                             .add_string("text")
                             .add<std::uint8_t>(9)
                             .bytes());
    ue::dynamic_event moved = std::move(*event);
    CHECK(moved);
    CHECK(!moved.write({1, 2, std::string(5000, 'x'), 1.5, std::span<const std::byte>(bytes)}));
    CHECK(moved.cut() >= 1);
    CHECK(file.take().size() == 4 + ue::max_payload);
}

TEST_CASE("A dynamic event that another one is assigned to is unregistered at once") {
    FakeFile file;
    auto first = ue::dynamic_event::create("first", {{"a", ue::field_type::u8}});
    auto second = ue::dynamic_event::create("second", {{"a", ue::field_type::u8}});
    REQUIRE(first);
    REQUIRE(second);
    *first = std::move(*second);
    CHECK(first->command() == "second u8 a");
    CHECK(registrations("first u8 a") == 0);
    CHECK(registrations() == 1);
    auto& same = *first;
    *first = std::move(same);
    CHECK(registrations() == 1);
}

TEST_CASE("A dynamic event refuses values of other types, numbers that do not fit, wrong counts") {
    FakeFile file;
    auto event = ue::dynamic_event::create(
        "dynamic", {{"a", ue::field_type::u8}, {"b", ue::field_type::text}});
    REQUIRE(event);
    file.enable("dynamic u8 a;__rel_loc char[] b");
    CHECK(event->write({255, "x"}) == std::error_code());
    file.take();
    CHECK(event->write({256, "x"}) == std::errc::result_out_of_range);
    CHECK(event->write({-1, "x"}) == std::errc::result_out_of_range);
    CHECK(event->write({"x", "x"}) == std::errc::invalid_argument);
    CHECK(event->write({1, 2}) == std::errc::invalid_argument);
    CHECK(event->write({1.5, "x"}) == std::errc::invalid_argument);
    CHECK(event->write({1}) == std::errc::invalid_argument);
    CHECK(event->write({1, "x", 3}) == std::errc::invalid_argument);
    CHECK(file.take().empty());
}

TEST_CASE("A dynamic event refuses names that the kernel would refuse") {
    FakeFile file;
    const auto error_of = [](std::string_view name, std::string_view field) {
        return ue::dynamic_event::create(name, {{field, ue::field_type::u8}}).error();
    };
    for (const char* name : {"", "a b", "a/b", "a:b", ".", "enable", "a\n", "a\xc2\x80"})
        CHECK(error_of(name, "a") == std::errc::invalid_argument);
    for (const char* field : {"", "a b", "a;b", "common_pid", "common_x", "a\xc2\x9f"})
        CHECK(error_of("dynamic", field) == std::errc::invalid_argument);
    for (const char* field : {"\xc2\xa0", "\xc3\x80", "\xc2z", "uncommon_x"})
        CHECK(ue::dynamic_event::create("dynamic", {{field, ue::field_type::u8}}));
    CHECK(error_of("dynamic", std::string(600, 'x')) == std::errc::argument_list_too_long);
    CHECK(error_of(std::string(256, 'x'), "a") == std::errc::invalid_argument);
    CHECK(
        ue::dynamic_event::create("dynamic", {{"a", ue::field_type::u8}, {"a", ue::field_type::s8}})
            .error() == std::errc::invalid_argument);
    CHECK(registrations() == 0);
}

TEST_CASE("A slice records its beginning and its end") {
    FakeFile file;
    ue::track<"work"> work;
    const std::string command = "work char track_event_type;__data_loc char[] slice_name;"
                                "__data_loc char[] track_name";
    CHECK(commands() == std::vector<std::string>{command});
    const auto expected = [](char type, const std::string& name) {
        const auto size = static_cast<std::uint32_t>(name.size() + 1);
        return record_of()
            .add(type)
            .add(location(8 + 9, size))
            .add(location(8 + 9 + size, 1))
            .add_string(name)
            .add_string("")
            .bytes();
    };
    { const ue::slice none(work, "parse"); }
    CHECK(file.take().empty());
    file.enable(command);
    {
        const ue::slice parse(work, "parse");
        CHECK(file.take() == expected('B', "parse"));
    }
    CHECK(file.take() == expected('E', ""));
    work.instant("now");
    CHECK(file.take() == expected('I', "now"));
    file.disable(command);
    {
        const ue::slice parse(work, "parse");
        file.enable(command);
    }
    CHECK(file.take().empty());
}

TEST_CASE("A counter records its value") {
    FakeFile file;
    ue::counter<"queue"> queue;
    file.enable("queue s64 counter_value;__data_loc char[] track_name");
    queue(std::size_t{7});
    CHECK(file.take() ==
          record_of().add<std::int64_t>(7).add(location(20, 6)).add_string("queue").bytes());
}

TEST_CASE("A log records level, text and place") {
    FakeFile file;
    ue::log<"messages"> messages;
    file.enable("messages u8 level;u32 line;__rel_loc char[] text;__rel_loc char[] function;"
                "__rel_loc char[] file");
    const auto begins = [](const Bytes& bytes, ue::level level, unsigned line) {
        Bytes start = record_of().add(number_of(level)).add(line).bytes();
        return bytes.size() > start.size() && std::equal(start.begin(), start.end(), bytes.begin());
    };
    const unsigned line = __LINE__ + 1;
    messages.warning("careful");
    const Bytes bytes = file.take();
    CHECK(begins(bytes, ue::level::warning, line));
    const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    CHECK(all.find(std::string("careful\0", 8)) != std::string::npos);
    CHECK(all.find("layers_test.cpp") != std::string::npos);
    messages.lazily(ue::level::debug, [] { return std::string("made"); });
    CHECK(begins(file.take(), ue::level::debug, __LINE__ - 1));
}

TEST_CASE("A logger of spdlog records its messages") {
    FakeFile file;
    const auto sink = std::make_shared<ue::spdlog_sink<"spdlog">>();
    file.enable("spdlog u8 level;u32 line;__rel_loc char[] logger;__rel_loc char[] text;"
                "__rel_loc char[] function;__rel_loc char[] file");
    spdlog::logger logger("shop", sink);
    logger.warn("{} cups", 3);
    const Bytes bytes = file.take();
    const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    CHECK(all.find(std::string("shop\0003 cups\0", 12)) != std::string::npos);
    CHECK(bytes[4] == std::byte{spdlog::level::warn});
}

TEST_CASE("A mark writes its text") {
    FakeFile file;
    const ue::marker mark(file.path().c_str());
    CHECK(!mark.error());
    CHECK(!mark("phase 2"));
    CHECK(!mark(std::string(" begins\n")));
    CHECK(file.take() == Payload().add_characters("phase 2 begins\n").bytes());
}

TEST_CASE("A mark without the device fails, and keeps errno") {
    const ue::marker mark("/none");
    errno = EXDEV;
    CHECK(mark("text") == std::errc::no_such_file_or_directory);
    CHECK(mark(1, {}) == std::errc::no_such_file_or_directory);
    CHECK(mark.error() == std::errc::no_such_file_or_directory);
    CHECK(errno == EXDEV);
}

TEST_CASE("Marks without the device make no system calls") {
    const auto status_of_child = [](const char* path) {
        const pid_t child = fork();
        if (child == 0) {
            const ue::marker mark(path);
            allow_only_exit();
            // For longer than an epoch of the library.
            const std::uint32_t start = user_events_epoch();
            while (user_events_epoch() - start < 3) {
                mark("text");
                mark(1, {});
            }
            syscall(SYS_exit_group, 0);
        }
        int status = -1;
        waitpid(child, &status, 0);
        return status;
    };
    CHECK(status_of_child("/none") == 0);
    // The first mark is killed.
    CHECK(WTERMSIG(status_of_child("/dev/null")) == SIGSYS);
}

TEST_CASE("retry() opens the device of marks that appeared later") {
    const std::string path = "/tmp/user_mark_" + std::to_string(getpid());
    const ue::marker mark(path.c_str());
    CHECK(mark.retry() == std::errc::no_such_file_or_directory);
    FakeFile file;
    REQUIRE(rename(file.path().c_str(), path.c_str()) == 0);
    CHECK(mark("x") == std::errc::no_such_file_or_directory);
    errno = EXDEV;
    CHECK(!mark.retry());
    CHECK(!mark.retry());
    CHECK(errno == EXDEV);
    CHECK(!mark("y"));
    CHECK(file.take() == Payload().add('y').bytes());
    unlink(path.c_str());
}

TEST_CASE("A mark opens the device again that a daemon has closed") {
    FakeFile file;
    const ue::marker mark(file.path().c_str());
    const pid_t child = fork();
    if (child == 0) {
        closefrom(3);
        // Other files take the lowest numbers.
        for (int i = 0; i < 50; i++)
            open("/dev/null", O_RDWR);
        _exit(mark("x") ? 1 : 0);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(file.take() == Payload().add('x').bytes());
}

TEST_CASE("With USER_EVENTS=off marks are off") {
    FakeFile file;
    setenv("USER_EVENTS", "off", 1);
    const ue::marker mark(file.path().c_str());
    CHECK(mark("x") == std::errc::operation_canceled);
    unsetenv("USER_EVENTS");
    CHECK(file.take().empty());
}
