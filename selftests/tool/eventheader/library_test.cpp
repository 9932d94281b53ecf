// SPDX-License-Identifier: GPL-2.0-only
// Events of the C++ library in the EventHeader encoding, as the tool decodes them.
#include "catch.hpp"
#include "shown.hpp"

#include <user_events/eventheader.hpp>
#include <user_events/testing.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

using namespace eventheader_test;
namespace ue = user_events;
using ue::eventheader::level;
template <ue::literal Name, typename T>
using f = ue::field<Name, T>;

namespace {

struct point {
    std::int32_t x;
    double y;
    std::string name;
};
using point_fields = ue::members<ue::member<"x", &point::x>, ue::member<"y", &point::y>,
                                 ue::member<"name", &point::name>>;

enum class color : std::uint16_t { red = 1, blue = 2 };

/// The last record, of a tracepoint.
std::string payload_of(const ue::testing::sink& sink, std::string_view tracepoint) {
    const auto records = sink.records(tracepoint);
    REQUIRE(!records.empty());
    return std::string(records.back().payload());
}

/// Its fields.
std::string fields_of(const ue::testing::sink& sink, std::string_view tracepoint) {
    const decoded found = decode(payload_of(sink, tracepoint));
    CHECK(found.why == reason::none);
    CHECK(found.undecoded.empty());
    return found.text;
}

} // namespace

TEST_CASE("The library's EventHeader events have the names that decoders know") {
    const ue::testing::sink sink;
    const ue::eventheader::event<"My_Shop:Placed", level::verbose, 0x1f, f<"n", int>> event;
    CHECK(!event.error());
    event(17);
    const auto records = sink.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].name() == "My_Shop_L5K1f");
    const std::string shown = json(payload_of(sink, "My_Shop_L5K1f"), "My_Shop_L5K1f");
    CAPTURE(shown);
    CHECK(shown.find("My_Shop:Placed") != std::string::npos);
    CHECK(shown.find("\"level\":\"verbose\"") != std::string::npos);
    CHECK(shown.find("\"keyword\":\"0x1F\"") != std::string::npos);
    CHECK(shown.find("\"n\":17") != std::string::npos);
    const ue::eventheader::event<"Shop:Closed", level::critical, 0> without_fields;
    without_fields();
    CHECK(fields_of(sink, "Shop_L1K0").empty());
}

TEST_CASE("Decoders show each type of the library's fields") {
    const ue::testing::sink sink;
    const ue::eventheader::event<"P:Numbers", level::information, 1, f<"s8", std::int8_t>,
                                 f<"u16", std::uint16_t>, f<"s32", std::int32_t>,
                                 f<"u64", std::uint64_t>, f<"f32", float>, f<"f64", double>,
                                 f<"truth", bool>, f<"letter", char>, f<"color", color>,
                                 f<"time", std::chrono::seconds>, f<"address", const void*>>
        numbers;
    numbers(std::int8_t(-1), std::uint16_t(65535), -2, ~std::uint64_t{0}, 0.5f, -2.25, true, 'x',
            color::blue, std::chrono::seconds(3), reinterpret_cast<const void*>(0xabc));
    CHECK(fields_of(sink, "P_L4K1") ==
          "s8=-1 u16=65535 s32=-2 u64=18446744073709551615 f32=0.5 f64=-2.25 truth=true letter=x "
          "color=2 time=3 address=0xABC");
    const ue::eventheader::event<
        "P:Others", level::information, 2, f<"text", std::string_view>, f<"far", ue::data_loc_text>,
        f<"chars", char[8]>, f<"empty", const char*>, f<"bytes", std::vector<std::byte>>,
        f<"four", std::array<std::uint8_t, 4>>, f<"list", std::span<const std::int16_t>>,
        f<"reals", std::vector<double>>, f<"at", point_fields>,
        f<"perhaps", std::optional<std::uint32_t>>, f<"absent", std::optional<std::string>>,
        f<"last", std::uint8_t>>
        others;
    const std::int16_t list[] = {1, -2, 3};
    const std::array<std::uint8_t, 4> four = {1, 2, 3, 0xff};
    const std::vector<std::byte> some = {std::byte{0xab}, std::byte{0}};
    others("größe", std::string("far"), "eight", static_cast<const char*>(nullptr), some, four,
           std::span<const std::int16_t>(list), std::vector<double>(), point{7, 1.5, "here"},
           std::uint32_t{5}, std::nullopt, std::uint8_t{9});
    CHECK(fields_of(sink, "P_L4K2") ==
          "text=größe far=far chars=eight empty= bytes=ab00 four=010203ff list=[1,-2,3] "
          "reals=[] at={ x=7 y=1.5 name=here } perhaps=5 absent= last=9");
    CHECK(numbers.cut() + others.cut() + numbers.lost() + others.lost() == 0);
}

TEST_CASE("A decoder sees opcodes, activities and related ones") {
    const ue::testing::sink sink;
    const ue::eventheader::event<"P:Request", level::information, 1, f<"n", int>> request;
    const auto own = ue::eventheader::activity_id::create();
    const auto related = ue::eventheader::activity_id::create();
    CHECK(std::memcmp(&own, &related, sizeof(own)) != 0);
    const auto check = [&](const ue::eventheader::activity& what, std::string_view expected,
                           std::string_view expected_related) {
        request.with(what, 3);
        const std::string payload = payload_of(sink, "P_L4K1");
        const payload_copy copy(payload);
        const auto event = tool::eventheader::to_event(copy.bytes());
        CHECK(event.why_not.why == reason::none);
        CHECK(event.opcode == static_cast<int>(what.opcode));
        CHECK(tool::eventheader::to_text(event.activity.data) == expected);
        CHECK(tool::eventheader::to_text(event.related_activity.data) == expected_related);
        CHECK(decode(payload).text == "n=3");
    };
    const std::string_view own_bytes(reinterpret_cast<const char*>(&own), 16),
        related_bytes(reinterpret_cast<const char*>(&related), 16);
    check({}, "", "");
    check({ue::eventheader::opcode::start, &own}, own_bytes, "");
    check({ue::eventheader::opcode::stop, &own, &related}, own_bytes, related_bytes);
    check({ue::eventheader::opcode::stop, nullptr, &related}, "", "");
}

TEST_CASE("Text and arrays that are too long are cut and counted, and the rest is decoded") {
    const ue::testing::sink sink;
    const ue::eventheader::event<"P:Long", level::error, 1, f<"text", std::string>,
                                 f<"list", std::vector<std::uint32_t>>,
                                 f<"more", std::vector<std::uint16_t>>, f<"n", int>>
        event;
    const std::vector<std::uint32_t> list(10, 1);
    event(std::string(3000, 'a'), list, std::vector<std::uint16_t>{2}, 5);
    CHECK(event.cut() == 0);
    CHECK(fields_of(sink, "P_L2K1").ends_with("list=[1,1,1,1,1,1,1,1,1,1] more=[2] n=5"));
    for (std::size_t size = 3900; size < 4100; size++) {
        std::string text;
        while (text.size() < size)
            text += "ä";
        event(text, list, std::vector<std::uint16_t>{2}, 5);
        const std::string payload = payload_of(sink, "P_L2K1");
        REQUIRE(payload.size() <= ue::max_payload);
        const decoded found = decode(payload);
        REQUIRE(found.why == reason::none);
        REQUIRE(found.text.ends_with("] n=5"));
        REQUIRE(found.text.find('\\') == std::string::npos);
    }
    CHECK(event.cut() > 0);
    event("", std::vector<std::uint32_t>(20000, 1), std::vector<std::uint16_t>(20000, 2), 5);
    CHECK(fields_of(sink, "P_L2K1").ends_with("] n=5"));
    CHECK(payload_of(sink, "P_L2K1").size() <= ue::max_payload);
    CHECK(event.lost() == 0);
}

TEST_CASE("Text for a field char[N] is cut to N - 1 bytes, between characters") {
    const ue::testing::sink sink;
    const ue::eventheader::event<"P:Characters", level::error, 5, f<"a", char[8]>, f<"b", char[8]>>
        event;
    event("1234567", "");
    CHECK(fields_of(sink, "P_L2K5") == "a=1234567 b=");
    CHECK(event.cut() == 0);
    event("12345678", "123456ä");
    CHECK(fields_of(sink, "P_L2K5") == "a=1234567 b=123456");
    CHECK(event.cut() == 1);
}

TEST_CASE("lazily() and numbers that are cut are those of other events") {
    const ue::testing::sink sink;
    const ue::eventheader::event<"P:Lazy", level::error, 4, f<"a", std::uint8_t>,
                                 f<"b", std::string_view>>
        event;
    event.lazily([] { return std::tuple(std::uint8_t{7}, std::string("x")); });
    CHECK(fields_of(sink, "P_L2K4") == "a=7 b=x");
    event(300, "");
    CHECK(event.cut() == 1);
    CHECK(fields_of(sink, "P_L2K4") == "a=44 b=");
}
