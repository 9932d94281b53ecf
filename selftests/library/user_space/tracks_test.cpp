// SPDX-License-Identifier: GPL-2.0-only
// Slices that threads pass on.
#include "catch.hpp"

#include <user_events/testing.hpp>
#include <user_events/user_events.hpp>

#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

namespace ue = user_events;

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
        CHECK(ids.first >> 32 == static_cast<std::uint64_t>(getpid()));
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
