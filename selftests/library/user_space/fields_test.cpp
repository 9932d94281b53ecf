// SPDX-License-Identifier: GPL-2.0-only
// The types of fields, with a fake user_events_data: which command they make, and which bytes.
#include "catch.hpp"
#include "fake_file.hpp"

#include <user_events/testing.hpp>
#include <user_events/user_events.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstring>
#include <filesystem>
#include <map>
#include <netinet/in.h>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

using namespace selftest;
namespace ue = user_events;

namespace {

template <typename T>
Bytes bytes_of(const T& value) {
    Bytes bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    return bytes;
}

/// Records an event with one field, and checks the command and the payload.
template <typename T, typename Argument>
void check(const std::string& fields, const Bytes& payload, const Argument& argument) {
    FakeFile file;
    CAPTURE(fields);
    const std::string command = "event " + fields;
    ue::event<"event", ue::field<"a", T>> event;
    REQUIRE(commands() == std::vector{command});
    file.enable(command);
    event(argument);
    Bytes expected = bytes_of(std::uint32_t{0});
    expected.insert(expected.end(), payload.begin(), payload.end());
    CHECK(file.take() == expected);
    event.lazily([&]() -> const Argument& { return argument; });
    CHECK(file.take() == expected);
    CHECK(event.lost() + event.cut() == 0);
}

template <typename T>
Bytes array_of(std::initializer_list<T> values) {
    Bytes bytes = bytes_of(location(0, static_cast<std::uint32_t>(values.size() * sizeof(T))));
    for (const T value : values) {
        const Bytes more = bytes_of(value);
        bytes.insert(bytes.end(), more.begin(), more.end());
    }
    return bytes;
}

Bytes text_of(const std::string& text) {
    return Payload()
        .add(location(0, static_cast<std::uint32_t>(text.size() + 1)))
        .add_string(text)
        .bytes();
}

enum class Color : std::uint16_t { green = 40000 };

/// A class that converts to text, as those of Qt, Boost and Abseil do.
struct Name {
    std::string text;
    operator std::string_view() const { return text; } // NOLINT(google-explicit-constructor)
};

/// Its text is that of another object.
struct View {
    std::string_view text;
    std::string_view native() const { return text; }
};

/// An optional that returns its value, not a reference.
template <typename T>
struct Option {
    using value_type = T;
    T value;
    bool has_value() const { return true; }
    T operator*() const { return value; }
};

struct Point {
    int x;
    double y;
    std::string name;
};
using PointFields = ue::members<ue::member<"x", &Point::x>, ue::member<"y", &Point::y>,
                                ue::member<"name", &Point::name>>;

struct Line {
    Point from, to;
    std::optional<int> width;
};

} // namespace

TEST_CASE("Floating-point numbers are recorded as their bits") {
    check<double>("struct f64 a 8", bytes_of(-1.5e300), -1.5e300);
    check<double>("struct f64 a 8", bytes_of(3.0), 3);
    check<double>("struct f64 a 8", bytes_of(0.5), 0.5f);
    check<float>("struct f32 a 4", bytes_of(0.1f), 0.1f);
    check<std::optional<double>>("struct f64 a 8", bytes_of(0.0), std::nullopt);
    check<std::optional<double>>("struct f64 a 8", bytes_of(2.5), 2.5);
    check<std::chrono::duration<double>>("struct f64 a 8", bytes_of(1.5),
                                         std::chrono::milliseconds(1500));
}

TEST_CASE("Enumerations, bool, bytes, durations and handles are recorded as integers") {
    check<Color>("u16 a", bytes_of(Color::green), Color::green);
    check<bool>("u8 a", bytes_of(true), true);
    check<bool>("u8 a", bytes_of(true), std::atomic<bool>(true));
    check<std::uint32_t>("u32 a", bytes_of(7u), std::atomic<int>(7));
    check<std::uint8_t>("u8 a", bytes_of(std::uint8_t{7}), std::atomic<std::uint8_t>(7));
    check<double>("struct f64 a 8", bytes_of(7.0), std::atomic<int>(7));
    check<std::byte>("u8 a", bytes_of(std::byte{200}), std::byte{200});
    check<std::chrono::milliseconds>("s64 a", bytes_of(std::int64_t{3000}),
                                     std::chrono::seconds(3));
    check<std::chrono::sys_seconds>("s64 a", bytes_of(std::int64_t{7}),
                                    std::chrono::sys_seconds(std::chrono::seconds(7)));
    check<std::coroutine_handle<>>("u64 a", bytes_of(std::uint64_t{0}), std::coroutine_handle<>());
    int object = 0;
    check<const int*>("u64 a", bytes_of(std::uint64_t{reinterpret_cast<std::uintptr_t>(&object)}),
                      &object);
}

TEST_CASE("What converts to a string_view is recorded as text") {
    check<std::string>("__rel_loc char[] a", text_of("tea"), "tea");
    check<Name>("__rel_loc char[] a", text_of("tea"), Name{"tea"});
    check<std::string_view>("__rel_loc char[] a", text_of("tea"), Name{"tea"});
    check<std::filesystem::path>("__rel_loc char[] a", text_of("/tmp/tea"),
                                 std::filesystem::path("/tmp/tea"));
    check<std::filesystem::path>("__rel_loc char[] a", text_of("/tmp/tea"), "/tmp/tea");
    check<std::string_view>("__rel_loc char[] a", text_of("/tmp"), std::filesystem::path("/tmp"));
    check<ue::data_loc_text>("__data_loc char[] a",
                             Payload().add(std::uint32_t{4 << 16 | 12}).add_string("tea").bytes(),
                             Name{"tea"});
    check<std::string_view>("__rel_loc char[] a", text_of("tea"), View{"tea"});
    check<std::optional<std::string_view>>("__rel_loc char[] a", text_of("tea"),
                                           Option<std::string_view>{"tea"});
    check<std::optional<int>>("s32 a", bytes_of(7), Option<int>{7});
    check<std::optional<Name>>("__rel_loc char[] a", text_of(""), std::optional<Name>());
    check<std::optional<std::string>>("__rel_loc char[] a", text_of("tea"), "tea");
    check<char[8]>("char[8] a", bytes_of(std::array<char, 8>{"tea"}), Name{"tea"});
}

TEST_CASE("Arrays of numbers are recorded whole, whatever has them") {
    const std::vector<int> vector = {1, -2, 3};
    const Bytes expected = array_of({1, -2, 3});
    check<std::vector<int>>("__rel_loc s32[] a", expected, vector);
    check<std::span<const int>>("__rel_loc s32[] a", expected, vector);
    check<std::span<int>>("__rel_loc s32[] a", expected, std::span(vector));
    check<std::array<int, 3>>("__rel_loc s32[] a", expected, std::array{1, -2, 3});
    check<int[3]>("__rel_loc s32[] a", expected, vector);
    const int array[] = {1, -2, 3};
    check<int[3]>("__rel_loc s32[] a", expected, array);
    check<std::optional<std::vector<int>>>("__rel_loc s32[] a", expected, std::optional(vector));
    check<std::optional<std::vector<int>>>("__rel_loc s32[] a", array_of<int>({}), std::nullopt);
    check<std::vector<int>>("__rel_loc s32[] a", array_of<int>({}), std::vector<int>());
    check<std::span<const double>>("__rel_loc f64[] a", array_of({0.5, 1.5}),
                                   std::vector{0.5, 1.5});
    check<std::span<const float>>("__rel_loc f32[] a", array_of({0.5f}), std::vector{0.5f});
    check<std::vector<std::uint8_t>>("__rel_loc u8[] a", array_of<std::uint8_t>({1, 2}),
                                     std::vector<std::uint8_t>{1, 2});
    check<std::span<const std::byte>>("__rel_loc u8[] a", array_of({std::byte{1}}),
                                      std::vector{std::byte{1}});
    check<std::array<bool, 2>>("__rel_loc u8[] a", array_of({true, false}),
                               std::array{true, false});
    check<std::array<std::byte, 2>>("unsigned char[2] a", bytes_of(std::array<char, 2>{1, 2}),
                                    std::array{std::byte{1}, std::byte{2}});
}

TEST_CASE("Addresses and UUIDs are recorded as bytes") {
    const std::array<std::uint8_t, 16> uuid = {1, 2, 3};
    check<std::array<std::uint8_t, 16>>("unsigned char[16] a", bytes_of(uuid), uuid);
    const in_addr address = {htonl(INADDR_LOOPBACK)};
    check<ue::structure<"in_addr", in_addr>>("struct in_addr a 4", bytes_of(address), address);
    check<ue::structure<"in6_addr", in6_addr>>("struct in6_addr a 16", bytes_of(in6addr_loopback),
                                               in6addr_loopback);
    check<std::optional<ue::structure<"in_addr", in_addr>>>("struct in_addr a 4",
                                                            bytes_of(in_addr{}), std::nullopt);
}

namespace {

/// As a smart pointer of COM.
struct WithAddress {
    int value;
    const WithAddress* operator&() const { return nullptr; }
};

} // namespace

TEST_CASE("A structure and its members are recorded if its class has an operator & of its own") {
    const WithAddress argument = {7};
    check<ue::structure<"with_address", WithAddress>>("struct with_address a 4", bytes_of(7),
                                                      argument);
    check<ue::members<ue::member<"value", &WithAddress::value>>>("s32 a_value", bytes_of(7),
                                                                 argument);
}

TEST_CASE("The members of a structure are recorded as fields of their own") {
    const Point point = {7, 1.5, "here"};
    const Bytes recorded =
        Payload().add(std::int32_t{7}).add(1.5).add(location(0, 5)).add_string("here").bytes();
    check<PointFields>("s32 a_x;struct f64 a_y 8;__rel_loc char[] a_name", recorded, point);
    check<ue::members<ue::member<"z", &Point::x, std::uint32_t>>>(
        "u32 a_z", bytes_of(std::uint32_t{7}), point);
}

TEST_CASE("Structures in structures have names with all of the way") {
    using LineFields =
        ue::members<ue::member<"from", &Line::from, PointFields>,
                    ue::member<"to", &Line::to, ue::members<ue::member<"x", &Point::x>>>,
                    ue::member<"width", &Line::width>>;
    const Line line = {{1, 2.0, "a"}, {3, 4.0, "b"}, std::nullopt};
    check<LineFields>("s32 a_from_x;struct f64 a_from_y 8;__rel_loc char[] a_from_name;"
                      "s32 a_to_x;s32 a_width",
                      Payload()
                          .add(std::int32_t{1})
                          .add(2.0)
                          .add(location(8, 2))
                          .add(std::int32_t{3})
                          .add(std::int32_t{0})
                          .add_string("a")
                          .bytes(),
                      line);
}

TEST_CASE("A dynamic event takes the arguments that an event takes") {
    FakeFile file;
    using enum ue::field_type;
    const auto event = ue::dynamic_event::create("dynamic", {{"a", f32},
                                                             {"b", f64},
                                                             {"c", u8},
                                                             {"d", s64},
                                                             {"e", s32_array},
                                                             {"f", f64_array},
                                                             {"g", text},
                                                             {"h", u16}});
    REQUIRE(event);
    REQUIRE(!event->error());
    CHECK(event->command() == "dynamic struct f32 a 4;struct f64 b 8;u8 c;s64 d;__rel_loc s32[] e;"
                              "__rel_loc f64[] f;__rel_loc char[] g;u16 h");
    file.enable(std::string(event->command()));
    const std::vector<int> numbers = {1, 2};
    const double reals[] = {0.5};
    CHECK(!event->write({0.5f, 1.5, true, std::chrono::seconds(7), numbers, reals,
                         std::filesystem::path("/tmp"), Color::green}));
    CHECK(file.take() == Payload()
                             .add<std::uint32_t>(0)
                             .add(0.5f)
                             .add(1.5)
                             .add<std::uint8_t>(1)
                             .add<std::int64_t>(7)
                             .add(location(10, 8))
                             .add(location(14, 8))
                             .add(location(18, 5))
                             .add<std::uint16_t>(40000)
                             .add(1)
                             .add(2)
                             .add(0.5)
                             .add_string("/tmp")
                             .bytes());
    const std::vector<unsigned> others = {1};
    CHECK(event->write({0.5, 1.5, 1, 7, others, reals, "x", 1}) == std::errc::invalid_argument);
    CHECK(event->write({0.5, 1, 1, 7, numbers, reals, "x", 1}) == std::errc::invalid_argument);
    CHECK(event->write({0.5, 1.5, 256, 7, numbers, reals, "x", 1}) ==
          std::errc::result_out_of_range);
}

TEST_CASE("A dynamic event takes text of char8_t as text, whatever has it") {
    FakeFile file;
    const auto event = ue::dynamic_event::create("dynamic", {{"a", ue::field_type::text}});
    REQUIRE(event);
    file.enable(std::string(event->command()));
    const Bytes record =
        Payload().add<std::uint32_t>(0).add(location(0, 5)).add_string("text").bytes();
    const char8_t array[] = u8"text";
    const char8_t* const pointer = array;
    CHECK(!event->write({u8"text"}));
    CHECK(file.take() == record);
    CHECK(!event->write({array}));
    CHECK(file.take() == record);
    CHECK(!event->write({pointer}));
    CHECK(file.take() == record);
    CHECK(!event->write({std::u8string_view(array)}));
    CHECK(file.take() == record);
    const auto bytes = ue::dynamic_event::create("bytes", {{"a", ue::field_type::bytes}});
    REQUIRE(bytes);
    // Text is no bytes, as for an event<>.
    CHECK(bytes->write({u8"text"}) == std::errc::invalid_argument);
    const unsigned char numbers[] = {1, 2};
    CHECK(!bytes->write({numbers}));
}

namespace {

struct OrderFields : ue::fields<ue::field<"number", std::uint32_t>,
                                ue::field<"from", ue::members<ue::member<"x", &Point::x>>>> {};

} // namespace

TEST_CASE("A list of fields stands for its fields, among others and with options") {
    FakeFile file;
    const ue::event<"listed", ue::field<"first", std::uint8_t>, OrderFields,
                    ue::field<"last", std::uint8_t>, ue::bit<3>>
        listed;
    const ue::event<"only", OrderFields> only;
    file.enable("listed u8 first;u32 number;s32 from_x;u8 last");
    CHECK(listed);
    CHECK(!only);
    file.enable("only u32 number;s32 from_x");
    CHECK(only);
    Point point{5, 0, ""};
    only.lazily([&] { return std::tuple(7u, point); });
    CHECK(file.take() == Payload().add<std::uint32_t>(1).add<std::uint32_t>(7).add(5).bytes());
}

namespace {

/// A class of a program whose conversion fails.
struct Thrower {
    operator std::string_view() const { throw std::runtime_error("no text"); }
};
struct ThrowingNumber {
    operator int() const { throw std::runtime_error("no number"); }
};
struct ThrowingMember {
    Thrower item;
};

} // namespace

TEST_CASE("What a conversion throws is passed on to the caller, and nothing is recorded") {
    const user_events::testing::sink sink;
    const ue::event<"a", ue::field<"item", std::string_view>> text;
    const ue::event<"b", ue::field<"item", char[8]>, ue::field<"number", std::optional<int>>> two;
    const ue::event<"c", ue::field<"from", ue::members<ue::member<"item", &ThrowingMember::item>>>>
        member;
    const ue::log<"d"> messages;
    CHECK_THROWS_AS(text(Thrower()), std::runtime_error);
    CHECK_THROWS_AS(two("a", ThrowingNumber()), std::runtime_error);
    CHECK_THROWS_AS(member(ThrowingMember()), std::runtime_error);
    CHECK_THROWS_AS(text.lazily([]() noexcept { return Thrower(); }), std::runtime_error);
    CHECK_THROWS_AS(two.lazily([]() noexcept { return std::tuple(Thrower(), 1); }),
                    std::runtime_error);
    CHECK_THROWS_AS(messages.info(Thrower()), std::runtime_error);
    CHECK_THROWS_AS(messages.lazily(ue::level::info, []() noexcept { return Thrower(); }),
                    std::runtime_error);
    CHECK_THROWS_AS(ue::dynamic_value(Thrower()), std::runtime_error);
    CHECK(sink.records().empty());
    static_assert(noexcept(text("tea")));
}

namespace {

struct Placed {
    std::uint32_t number;
    std::uint8_t cents;
    std::string_view item;
    char size[4];
};

} // namespace

TEST_CASE("An event whose fields are members of a structure is called with the names of fields") {
    FakeFile file;
    const ue::structured_event<"placed", &Placed::number, &Placed::cents, &Placed::item,
                               &Placed::size>
        placed;
    REQUIRE(commands() == std::vector<std::string>{
                              "placed u32 number;u8 cents;__rel_loc char[] item;char[4] size"});
    const user_events::testing::sink sink;
    placed({.number = 17, .cents = 45, .item = "tea", .size = "big"});
    placed(17, 45, "tea", "big");
    USER_EVENT(placed, {.number = 17, .cents = 45, .item = "tea", .size = "big"});
    REQUIRE(sink.records().size() == 3);
    for (const auto& record : sink.records())
        CHECK(record.print() == "placed: number=17 cents=45 item=tea size=big");
}
