// SPDX-License-Identifier: GPL-2.0-only
// Slices that threads pass on, what options add to slices, counters, and levels of logs.
#include "catch.hpp"

#include <user_events/testing.hpp>
#include <user_events/user_events.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#if __has_include(<source_location>)
#include <source_location>
#endif

namespace ue = user_events;

namespace {

/// What a class like std::source_location has.
struct elsewhere {
    const char* file_name() const { return "elsewhere.cpp"; }
    const char* function_name() const { return "there"; }
    std::uint32_t line() const { return 7; }
};

/// One name for one thing.
template <typename T>
concept tells_error = requires(const T& object) {
    { object.error() } -> std::same_as<std::error_code>;
}
&&!requires(const T& object) {
    object.status();
};
static_assert(tells_error<ue::event<"a">> && tells_error<ue::dynamic_event> &&
              tells_error<ue::track<"a">> && tells_error<ue::async_track<"a">> &&
              tells_error<ue::counter<"a">> && tells_error<ue::log<"a">> &&
              tells_error<ue::marker>);

std::string names_of(const std::vector<ue::testing::record>& records) {
    std::string names;
    for (const auto& each : records)
        names += each.print().substr(each.print().find(':')) + '\n';
    return names;
}

} // namespace

TEST_CASE("A slice begins in one thread and ends in another, once, on a track of its own") {
    ue::async_track<"requests"> requests;
    ue::async_slice unrecorded(requests, "before");
    CHECK(unrecorded.id() == 0);
    const ue::testing::sink sink;
    {
        ue::async_slice first(requests, "first");
        ue::async_slice second(requests, "second");
        const auto ids = std::pair(first.id(), second.id());
        CHECK(ids.first != ids.second);
        CHECK(ids.first != 0);
        std::thread([moved = std::move(first)]() mutable { moved.end(); }).join();
        auto& same = second;
        second = std::move(same);
        ue::async_slice third(requests, "third");
        third = std::move(second);
        requests.instant(5, "moment", "others");
    }
    unrecorded.end();
    std::string types;
    for (const auto& each : sink.records("requests"))
        types += static_cast<char>(*each.get<char>("track_event_type"));
    // The first, the second and the third begin; the first ends; the third and the second end.
    CHECK(types == "BBEBEIE");
    const auto all = sink.records("requests");
    REQUIRE(all.size() == 7);
    const auto id = [&](std::size_t at) { return *all[at].get<std::uint64_t>("scope_id"); };
    CHECK(all[0].get<std::string>("slice_name") == "first");
    CHECK(id(0) == id(2));
    CHECK(id(1) == id(6));
    CHECK(id(3) == id(4));
    CHECK(id(5) == 5);
    CHECK(all[5].get<std::string>("track_name") == "others");
}

TEST_CASE("A track with_place records where its slices begin") {
    const ue::track<"plain"> plain;
    const ue::track<"placed", ue::with_place> placed;
    const ue::async_track<"placed_async", ue::with_place> async;
    const ue::testing::sink sink;
    const auto first_line = static_cast<unsigned>(__LINE__) + 2;
    {
        const ue::slice by_object(placed, "a");
        placed.begin("b", "rows");
        placed.instant("c");
        placed.begin("d", {}, elsewhere());
        const ue::async_slice other(async, "e");
        async.begin(5, "f");
        async.instant(5, "g", {}, elsewhere());
        const ue::slice by_default(plain, "h");
    }
    const auto line = [](const ue::testing::record& record) {
        return *record.get<unsigned>("line");
    };
    const auto slices = sink.records("placed");
    REQUIRE(slices.size() == 5);
    CHECK(line(slices[0]) == first_line);
    CHECK(line(slices[1]) == first_line + 1);
    CHECK(slices[1].get<std::string>("track_name") == "rows");
    CHECK(line(slices[2]) == first_line + 2);
    CHECK(slices[2].get<std::string>("file")->ends_with("tracks_test.cpp"));
    CHECK(slices[3].print() == "placed: track_event_type=66 slice_name=d track_name= line=7 "
                               "function=there file=elsewhere.cpp");
    // An end has no place.
    CHECK(slices[4].print() ==
          "placed: track_event_type=69 slice_name= track_name= line=0 function= file=");
    const auto others = sink.records("placed_async");
    REQUIRE(others.size() == 4);
    CHECK(line(others[0]) == first_line + 4);
    CHECK(line(others[1]) == first_line + 5);
    CHECK(line(others[2]) == 7);
    CHECK(!sink.records("plain")[0].get<unsigned>("line"));
}

TEST_CASE("A child does not continue the numbers of its parent's flows") {
    const ue::track<"steps"> steps;
    // The number without the process.
    const auto next = [] {
        return ue::flow::next().id ^ std::uint64_t{static_cast<std::uint32_t>(getpid())} << 32;
    };
    const std::uint64_t before = next();
    CHECK(next() == before + 1);
    const pid_t child = fork();
    if (child == 0)
        _exit(next() - before > 1000 ? 0 : 1);
    REQUIRE(child > 0);
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
}

TEST_CASE("A track with_flow records the flow of a slice, and 0 without one") {
    const ue::track<"steps", ue::with_flow> steps;
    const ue::async_track<"waits", ue::with_place, ue::with_flow> waits;
    const ue::testing::sink sink;
    const ue::flow request = ue::flow::next();
    CHECK(request.id != ue::flow::next().id);
    {
        const ue::slice first(steps, "accept", request);
        const ue::slice second(steps, "count");
        const ue::async_slice waiting(waits, "wait", request);
        waits.begin(1, "again", request, "named");
    }
    const auto flow = [](const ue::testing::record& record) {
        return *record.get<std::uint64_t>("flow_id");
    };
    const auto slices = sink.records("steps");
    REQUIRE(slices.size() == 4);
    CHECK(flow(slices[0]) == request.id);
    CHECK(flow(slices[1]) == 0);
    CHECK(flow(slices[2]) == 0);
    const auto others = sink.records("waits");
    REQUIRE(others.size() == 3);
    CHECK(flow(others[0]) == request.id);
    CHECK(others[0].get<std::string>("file")->ends_with("tracks_test.cpp"));
    CHECK(flow(others[1]) == request.id);
    CHECK(others[1].get<std::string>("track_name") == "named");
    CHECK(flow(others[2]) == 0);
}

TEST_CASE("A counter has integers or floating-point numbers") {
    const ue::counter<"whole"> whole;
    const ue::counter<"load", double> load;
    const ue::counter<"short_load", float> short_load;
    const ue::testing::sink sink;
    whole(-3);
    whole(std::uint8_t{255}, "bytes");
    load(0.75);
    load(2, "whole numbers");
    short_load(1.5f);
    CHECK(names_of(sink.records()) == ": counter_value=-3 track_name=whole\n"
                                      ": counter_value=255 track_name=bytes\n"
                                      ": counter_value=0.75 track_name=load\n"
                                      ": counter_value=2 track_name=whole numbers\n"
                                      ": counter_value=1.5 track_name=short_load\n");
}

TEST_CASE("A log has all levels, and the place of the call or another one") {
    const ue::log<"all_levels"> log;
    const ue::testing::sink sink;
    const auto line = static_cast<unsigned>(__LINE__);
    log.fatal("1");
    log.error(std::string("2"));
    log.warning(std::string_view("3"));
    log.notice("4", ue::place::here());
    log.info("5");
    log.debug("6");
    log.trace("7");
    log(ue::level::trace, "8");
    const auto records = sink.records();
    REQUIRE(records.size() == 8);
    unsigned level = 2;
    for (std::size_t i = 0; i < 8; i++) {
        CHECK(records[i].get<std::string>("text") == std::to_string(i + 1));
        CHECK(records[i].get<unsigned>("line") == line + 1 + i);
        CHECK(records[i].get<unsigned>("level") == level);
        level += level < 8;
    }
    log.info("there", elsewhere());
    CHECK(sink.records().back().print() ==
          "all_levels: level=6 line=7 text=there function=there file=elsewhere.cpp");
#ifdef __cpp_lib_source_location
    log.info("here", std::source_location::current());
    CHECK(sink.records().back().get<unsigned>("line") == static_cast<unsigned>(__LINE__) - 1);
#endif
}
