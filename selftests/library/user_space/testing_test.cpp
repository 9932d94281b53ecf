// SPDX-License-Identifier: GPL-2.0-only
// The sink for unit tests of programs, and the list of events.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/testing.hpp>
#include <user_events/user_events.hpp>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace selftest;
namespace ue = user_events;

namespace {

using Order =
    ue::event<"order_placed", ue::field<"number", std::uint32_t>, ue::field<"item", std::string>>;

enum class Color : std::int8_t { red = -1 };

struct Point {
    int x;
    double y;
};

struct Pair {
    std::int32_t first, second;
};

} // namespace

TEST_CASE("A sink gets the records of all events, and no kernel is needed") {
    setenv("USER_EVENTS_FILE", "/nowhere", 1);
    {
        const Order before;
        CHECK(before.error());
        const ue::testing::sink sink;
        const Order after;
        CHECK(!before.error());
        CHECK(!after.error());
        CHECK(before);
        CHECK(after);
        before(1, "tea");
        after(2, std::string(2000, 'x'));
        after.lazily([] { return std::tuple(3, "coffee"); });
        const auto records = sink.records();
        REQUIRE(records.size() == 3);
        CHECK(records[0].name() == "order_placed");
        CHECK(records[0].get<int>("number") == 1);
        CHECK(records[0].get<std::string>("item") == "tea");
        CHECK(records[0].print() == "order_placed: number=1 item=tea");
        CHECK(records[1].get<std::string>("item") == std::string(2000, 'x'));
        CHECK(records[2].get<std::uint64_t>("number") == 3);
        CHECK(after.lost() + before.lost() == 0);
    }
    unsetenv("USER_EVENTS_FILE");
}

TEST_CASE(
    "A sink gets nothing that was recorded before or after, and the kernel nothing meanwhile") {
    FakeFile file;
    const Order event;
    const std::string command = "order_placed u32 number;__rel_loc char[] item";
    file.enable(command);
    event(1, "a");
    {
        ue::testing::sink sink;
        CHECK(registrations() == 0);
        event(2, "b");
        CHECK(file.take().size() == 14);
        REQUIRE(sink.records("order_placed").size() == 1);
        CHECK(sink.records("order_placed")[0].get<int>("number") == 2);
        CHECK(sink.records("other").empty());
        sink.clear();
        CHECK(sink.records().empty());
        CHECK(!ue::retry());
    }
    CHECK(registrations() == 1);
    CHECK(event);
    event(3, "c");
    CHECK(file.take().size() == 14);
    file.disable(command);
    CHECK(!event);
    {
        const ue::testing::sink sink;
        CHECK(event);
    }
    CHECK(!event);
}

TEST_CASE("A record of a sink has all types of fields") {
    const ue::testing::sink sink;
    const ue::event<
        "all", ue::field<"real", double>, ue::field<"small", float>, ue::field<"color", Color>,
        ue::field<"letter", char>, ue::field<"chars", char[8]>,
        ue::field<"id", std::array<std::uint8_t, 2>>, ue::field<"far", ue::data_loc_text>,
        ue::field<"numbers", std::vector<int>>, ue::field<"reals", std::vector<double>>,
        ue::field<"at", ue::members<ue::member<"x", &Point::x>, ue::member<"y", &Point::y>>>,
        ue::field<"whole", ue::structure<"pair", Pair>>, ue::field<"last", std::uint64_t>>
        event;
    event(1.5, 0.5f, Color::red, 'A', "chars", std::array<std::uint8_t, 2>{1, 255}, "far",
          std::vector{1, -2}, std::vector{0.5}, Point{7, 2.5}, Pair{0, 1}, ~std::uint64_t{0});
    const ue::testing::record record = sink.records().at(0);
    CHECK(record.get<double>("real") == 1.5);
    CHECK(record.get<float>("small") == 0.5f);
    CHECK(record.get<Color>("color") == Color::red);
    CHECK(record.get<char>("letter") == 'A');
    CHECK(record.get<std::string>("chars") == "chars");
    CHECK(record.get<std::vector<std::uint8_t>>("id") == std::vector<std::uint8_t>{1, 255});
    CHECK(record.get<std::string>("far") == "far");
    CHECK(record.get<std::vector<int>>("numbers") == std::vector{1, -2});
    CHECK(record.get<std::vector<double>>("reals") == std::vector{0.5});
    CHECK(record.get<int>("at_x") == 7);
    CHECK(record.get<double>("at_y") == 2.5);
    CHECK(record.get<std::uint64_t>("last") == ~std::uint64_t{0});
    // What cannot be had.
    CHECK(!record.get<std::int64_t>("last"));
    CHECK(!record.get<std::uint32_t>("color"));
    CHECK(!record.get<int>("real"));
    CHECK(!record.get<double>("last"));
    CHECK(!record.get<float>("last"));
    CHECK(!record.get<int>("chars"));
    CHECK(!record.get<std::string>("real"));
    CHECK(!record.get<std::vector<unsigned>>("numbers"));
    CHECK(!record.get<int>("nowhere"));
    CHECK(record.print() ==
          "all: real=1.5 small=0.5 color=-1 letter=65 chars=chars id=01ff far=far numbers={1,-2} "
          "reals={0.5} at_x=7 at_y=2.5 whole=0000000001000000 "
          "last=18446744073709551615");
}

TEST_CASE("A sink gets the records of all threads", "[threads]") {
    const ue::testing::sink sink;
    const Order event;
    std::vector<std::thread> threads(4);
    for (std::thread& each : threads)
        each = std::thread([&] {
            for (int i = 0; i < 100; i++)
                event(i, "x");
        });
    for (std::thread& thread : threads)
        thread.join();
    CHECK(sink.records().size() == 400);
}

TEST_CASE("A thread may record while a sink begins or ends", "[threads]") {
    setenv("USER_EVENTS", "off", 1);
    {
        const Order event;
        std::atomic<bool> stop = false;
        std::thread recorder([&] {
            while (!stop)
                event(1, "x");
        });
        for (int i = 0; i < 300; i++) {
            const ue::testing::sink sink;
            while (sink.records().empty())
                std::this_thread::yield();
            CHECK(sink.records().front().name() == "order_placed");
        }
        stop = true;
        recorder.join();
    }
    unsetenv("USER_EVENTS");
}

TEST_CASE("A child can record with a sink, whatever other threads recorded during the fork",
          "[threads]") {
    std::optional<ue::testing::sink> sink(std::in_place);
    const Order event;
    std::atomic<bool> stop = false;
    std::thread recorder([&] {
        while (!stop)
            event(1, "a");
    });
    for (int i = 0; i < 100; i++) {
        sink->clear();
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            event(2, "b");
            const auto records = sink->records();
            // Neither does the end of a sink wait for ever.
            sink.reset();
            _exit(!records.empty() && records.back().get<int>("number") == 2 ? 0 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(status == 0);
    }
    stop = true;
    recorder.join();
}

TEST_CASE("All kinds of events are listed, with their errors and counts") {
    FakeFile file;
    file.fail_with(EADDRINUSE);
    const Order event;
    file.fail_with(0);
    const ue::track<"work"> work;
    const ue::counter<"queue"> queue;
    const ue::log<"messages"> messages;
    const auto dynamic = ue::dynamic_event::create("dynamic", {{"a", ue::field_type::text}});
    const std::string command = "dynamic __rel_loc char[] a";
    file.enable(command);
    CHECK(!dynamic->write({std::string(10000, 'x')}));
    std::map<std::string, ue::event_state> found;
    ue::for_each_event(
        [&](const ue::event_state& each) { found[std::string(each.name())] = each; });
    REQUIRE(found.size() == 5);
    CHECK(found["order_placed"].error == std::errc::address_in_use);
    CHECK(!found["work"].error);
    CHECK(!found["queue"].is_enabled);
    CHECK(found["messages"].command ==
          "messages u8 level;u32 line;__rel_loc char[] text;__rel_loc char[] function;"
          "__rel_loc char[] file");
    CHECK(found["dynamic"].is_enabled);
    CHECK(found["dynamic"].cut == 1);
    CHECK(found["dynamic"].lost == 0);
    unlink(file.path().c_str());
    ::close(last_descriptor());
    CHECK(dynamic->write({"x"}));
    ue::for_each_event(
        [&](const ue::event_state& each) { found[std::string(each.name())] = each; });
    CHECK(found["dynamic"].lost == 1);
}
