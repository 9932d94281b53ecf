// SPDX-License-Identifier: GPL-2.0-only
// Which events are chosen by level, keyword, provider and name. The kernel is asked for globs, so
// they have to match each tracepoint that is chosen.
#include "catch.hpp"
#include "eventheader/choice.hpp"
#include "text/errors.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <fnmatch.h>
#include <random>
#include <string>
#include <string_view>

using tool::eventheader::choice;
using tool::eventheader::event_pattern;
using tool::eventheader::to_keyword;
using tool::eventheader::to_level;

namespace {

bool is_matched(const std::vector<std::string>& globs, const std::string& name) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
        return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
    });
}

/// The message and the remedy of what the function throws.
template <typename Function>
std::string complaint(Function function) {
    try {
        function();
    } catch (const tool::text::usage_error& error) {
        return error.what() + (": " + error.remedy());
    }
    return {};
}

} // namespace

TEST_CASE("a level includes the more severe ones, and events of no level") {
    const choice warning{.level = std::uint8_t{3}};
    for (const int level : {0, 1, 2, 3})
        CHECK(warning.includes(fmt::format("P_L{}K1", level)));
    for (const char* const level : {"4", "5", "a", "ff"})
        CHECK(!warning.includes(fmt::format("P_L{}K1", level)));
}

TEST_CASE("a keyword chooses events that have one of its bits, or no keyword") {
    const choice some{.keyword = 0x14};
    for (const char* const keyword : {"4", "5", "10", "f0", "1000000000000014", "0"})
        CHECK(some.includes(fmt::format("P_L5K{}", keyword)));
    for (const char* const keyword : {"1", "3", "8", "20", "8000000000000000"})
        CHECK(!some.includes(fmt::format("P_L5K{}", keyword)));
}

TEST_CASE("tracepoints that are no provider's have neither level nor keyword") {
    for (const char* const name : {"order_placed", "P_L5", "P_LxK1", "P_L5K1g", "_"}) {
        CHECK(choice{}.includes(name));
        CHECK(!choice{.level = std::uint8_t{255}}.includes(name));
        CHECK(!choice{.keyword = ~std::uint64_t{0}}.includes(name));
    }
}

TEST_CASE("the kernel's globs match each chosen tracepoint, and without options no other") {
    std::mt19937_64 random(36); // NOLINT(bugprone-random-generator-seed): the same each time
    const auto below = [&](std::uint64_t end) { return random() % end; };
    for (int i = 0; i < 3000; i++) {
        choice made;
        if (below(2))
            made.level = static_cast<std::uint8_t>(below(7));
        if (below(4))
            made.keyword = random() >> below(64);
        const auto globs = tool::eventheader::tracepoint_globs("My_*", made);
        const std::uint64_t keyword = below(5) ? random() >> below(64) : 0;
        const char* const options[] = {"", "Gabc", "G1fZ"};
        const std::string option = options[below(3)];
        const std::string name = fmt::format("My_Provider_L{:x}K{:x}{}", below(8), keyword, option);
        INFO(name << " level " << (made.level ? int{*made.level} : -1) << " keyword "
                  << made.keyword);
        if (made.includes(name))
            CHECK(is_matched(globs, name));
        else if (option.empty())
            CHECK(!is_matched(globs, name));
        CHECK(!is_matched(globs, "Other" + name));
        CHECK(!is_matched(globs, "My_order"));
    }
}

TEST_CASE("levels are named, or begun names, or numbers") {
    const char* const names[] = {"critical", "error", "warning", "information", "verbose"};
    for (int level = 1; level <= 5; level++) {
        const std::string_view name = names[level - 1];
        CHECK(to_level(name) == level);
        CHECK(to_level(name.substr(0, 4)) == level);
    }
    CHECK(to_level("0") == 0);
    CHECK(to_level("255") == 255);
}

TEST_CASE("an unknown level is a usage error with a suggestion") {
    CHECK(complaint([] { to_level("warnign"); }) ==
          "there is no level warnign: did you mean \"warning\"? the levels are critical, error, "
          "warning, information, verbose, or a number up to 255");
    for (const char* const text : {"", "256", "-1", "3x", "Warning!", "0x3"})
        CHECK(complaint([&] { to_level(text); }).find("there is no level") == 0);
}

TEST_CASE("a keyword is a number") {
    CHECK(to_keyword("0x4") == 4);
    CHECK(to_keyword("0XfF") == 255);
    CHECK(to_keyword("31") == 31);
    CHECK(to_keyword("0xffffffffffffffff") == ~std::uint64_t{0});
}

TEST_CASE("a keyword that is no number is a usage error with a suggestion") {
    CHECK(complaint([] { to_keyword("1f"); }) == "1f is no keyword: did you mean \"0x1f\"?");
    for (const char* const text :
         {"", "0", "0x0", "0x", "-1", "x", "0x1g", "0x1ffffffffffffffff", "1 "})
        CHECK(complaint([&] { to_keyword(text); }).find("a keyword is a number") !=
              std::string::npos);
}

TEST_CASE("a pattern has a provider and an event") {
    const event_pattern pattern("My*:Request*");
    CHECK(pattern.may_match("My_Provider_L4K1"));
    CHECK(pattern.matches("My_Provider_L4K1", "RequestDone"));
    CHECK(!pattern.matches("My_Provider_L4K1", "Idle"));
    CHECK(!pattern.may_match("Other_L4K1"));
    CHECK(!pattern.may_match("My_order"));
    CHECK(event_pattern("P:GET /a:b").matches("P_L4K1", "GET /a:b"));
    CHECK(!event_pattern("My*").may_match("My_L4K1"));
}
