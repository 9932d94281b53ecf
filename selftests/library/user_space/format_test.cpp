// SPDX-License-Identifier: GPL-2.0-only
// Messages with arguments, for standard libraries that have <format>.
#include "catch.hpp"

#include <user_events/format.hpp>
#include <user_events/testing.hpp>
#include <user_events/user_events.hpp>

#include <format>
#include <stdexcept>
#include <string>

namespace ue = user_events;

namespace {

struct counted {
    int* times;
};
struct broken {};

} // namespace

template <>
struct std::formatter<counted> : std::formatter<int> {
    auto format(const counted& value, auto& context) const {
        return std::formatter<int>::format(++*value.times, context);
    }
};
template <>
struct std::formatter<broken> : std::formatter<int> {
    auto format(const broken&, auto& context) const {
        throw std::runtime_error("broken");
        return context.out();
    }
};

TEST_CASE("A message is put together only while the log is recorded") {
    const ue::log<"formatted"> log;
    int times = 0;
    log.info("{} of {}", counted{&times}, 7);
    CHECK(times == 0);
    const ue::testing::sink sink;
    const std::string name = "ana";
    const auto line = static_cast<unsigned>(__LINE__);
    log.info("{} of {}", counted{&times}, 7);
    log.trace("{:>5}|{}", 1.5, name);
    log(ue::level::fatal, "{1}{0}", "a", "b");
    log.error("{}", std::string(5000, 'x'));
    CHECK(times == 1);
    const auto records = sink.records();
    REQUIRE(records.size() == 4);
    const char* const texts[] = {"1 of 7", "  1.5|ana", "ba"};
    const int levels[] = {6, 8, 2, 3};
    for (std::size_t i = 0; i < 4; i++) {
        CHECK(records[i].get<int>("level") == levels[i]);
        CHECK(records[i].get<unsigned>("line") == line + 1 + i);
        // The long text leaves no room for the file.
        if (i == 3)
            continue;
        CHECK(records[i].get<std::string>("file")->ends_with("format_test.cpp"));
        CHECK(records[i].get<std::string>("text") == texts[i]);
    }
    CHECK(records[3].get<std::string>("text")->size() > 3900);
    log.info("{} braces without arguments");
    CHECK(sink.records().back().get<std::string>("text") == "{} braces without arguments");
}

TEST_CASE("What a formatter throws goes to the caller of the log") {
    const ue::log<"throwing"> log;
    log.info("{}", broken());
    const ue::testing::sink sink;
    CHECK_THROWS_AS(log.info("{}", broken()), std::runtime_error);
    CHECK(sink.records().empty());
}
