// SPDX-License-Identifier: GPL-2.0-only
// What retry() tells.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/user_events.hpp>

#include <cstdlib>
#include <string>
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
