// SPDX-License-Identifier: GPL-2.0-only
// Events of the C++ library, recorded by Debian's unmodified trace-cmd and perf.
#include "catch.hpp"
#include "deadline.hpp"
#include "tool.hpp"
#include "tracing.hpp"

#include <user_events/user_events.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <netinet/in.h>
#include <optional>
#include <span>
#include <string>
#include <vector>

using namespace selftest;
namespace ue = user_events;

namespace {

struct Point {
    std::int32_t x, y;
};

using Everything =
    ue::event<"library_everything", ue::field<"s64", std::int64_t>, ue::field<"u64", std::uint64_t>,
              ue::field<"s32", std::int32_t>, ue::field<"u32", std::uint32_t>,
              ue::field<"text", std::string_view>, ue::field<"far", ue::data_loc_text>,
              ue::field<"array", char[8]>, ue::field<"eight", ue::structure<"eight", Point>>,
              ue::field<"bytes", std::span<const std::byte>>>;

/// What the tools print of the record that write_everything() writes.
std::string write_everything(const Everything& event, std::int32_t number) {
    const std::string text = "near " + std::to_string(number);
    const std::byte bytes[] = {std::byte{1}, std::byte{2}};
    event(-5000000000, 18000000000000000000u, number, 4000000000u, text, "far", "array",
          Point{1, 2}, bytes);
    return "s64=-5000000000 u64=18000000000000000000 s32=" + std::to_string(number) +
           " u32=4000000000 text=" + text + " far=far array=array eight=8589934593 bytes=";
}

enum class Color : std::uint16_t { green = 40000 };

using OtherTypes =
    ue::event<"library_other_types", ue::field<"s8", std::int8_t>, ue::field<"u8", std::uint8_t>,
              ue::field<"s16", std::int16_t>, ue::field<"u16", std::uint16_t>,
              ue::field<"flag", bool>, ue::field<"letter", char>, ue::field<"color", Color>,
              ue::field<"byte", std::byte>, ue::field<"took", std::chrono::milliseconds>,
              ue::field<"when", std::chrono::sys_seconds>, ue::field<"object", const void*>,
              ue::field<"load", double>, ue::field<"maybe", std::optional<int>>,
              ue::field<"utf8", std::u8string_view>>;

/// As write_everything(). The libtraceevent of Debian 12 prints negative numbers of 8 and 16 bits
/// without their sign, with the print formats that user_events has.
std::string write_other_types(const OtherTypes& event, std::int32_t number) {
    using namespace std::chrono;
    event(127, 255, 32767, 65535, true, 'A', Color::green, std::byte{200}, milliseconds(-5),
          sys_seconds(seconds(number)), reinterpret_cast<const void*>(std::uintptr_t{0x123456789a}),
          1.0, std::nullopt, u8"größe");
    return "s8=127 u8=255 s16=32767 u16=65535 flag=1 letter=65 color=40000 byte=200 took=-5 "
           "when=" +
           std::to_string(number) +
           " object=78187493530 load=4607182418800017408 maybe=0 utf8=größe";
}

struct Place {
    std::int32_t x;
    std::string name;
};

using ComposedTypes = ue::event<
    "library_composed", ue::field<"number", std::int32_t>, ue::field<"ratio", float>,
    ue::field<"path", std::filesystem::path>,
    ue::field<"at", ue::members<ue::member<"x", &Place::x>, ue::member<"name", &Place::name>>>,
    ue::field<"uuid", std::array<std::uint8_t, 4>>,
    ue::field<"address", ue::structure<"in_addr", in_addr>>,
    ue::field<"numbers", std::vector<std::int32_t>>, ue::field<"reals", std::span<const double>>>;

/// As write_everything().
std::string write_composed(const ComposedTypes& event, std::int32_t number) {
    const double reals[] = {1.0, 2.0};
    event(number, 1.0f, std::filesystem::path("/tmp/tea"), Place{7, "here"},
          std::array<std::uint8_t, 4>{'u', 'u', 'i', 'd'}, in_addr{0x0100007f},
          std::vector{1, -2, 3}, std::span(reals));
    return "number=" + std::to_string(number) +
           " ratio=1065353216 path=/tmp/tea at_x=7 at_name=here uuid=uuid address=16777343 "
           "numbers=";
}

/// Checks what the tools print of three records of an event, up to a text.
template <typename AnyEvent, typename Write>
void check_reported(const std::string& name, const std::string& last, Write write) {
    const AnyEvent event;
    REQUIRE(!event.error());
    const bool with_perf = GENERATE(false, true);
    CAPTURE(with_perf);
    const ToolFile file(with_perf ? ToolFile::perf : ToolFile::trace_cmd);
    std::vector<std::string> expected;
    file.record((with_perf ? "-a -e user_events:" : "-e user_events:") + name, [&] {
        // The tool does not wait for an enable bit without end.
        REQUIRE(eventually([&] { return static_cast<bool>(event); }));
        for (std::int32_t number : {1, 2, 3})
            expected.push_back(write(event, number));
    });
    CHECK(eventually([&] { return !event; }));
    std::vector<std::string> reported = file.fields(Event(name));
    for (std::string& line : reported)
        line.resize(std::min(line.size(), line.find(last) + last.size()));
    CHECK(reported == expected);
}

} // namespace

TEST_CASE("trace-cmd and perf report the fields as they were written",
          "[waits][tool:perf][tool:trace-cmd]") {
    // Bytes are printed in different ways.
    check_reported<Everything>("library_everything", " bytes=", write_everything);
}

TEST_CASE("trace-cmd and perf report small, counted and optional fields as they were written",
          "[waits][tool:perf][tool:trace-cmd]") {
    check_reported<OtherTypes>("library_other_types", "größe", write_other_types);
}

TEST_CASE("trace-cmd and perf report composed fields as they were written",
          "[waits][tool:perf][tool:trace-cmd]") {
    check_reported<ComposedTypes>("library_composed", "numbers=", write_composed);
}

TEST_CASE("A filter of the kernel works on the fields of an event") {
    const Everything event;
    Instance instance;
    const Event name("library_everything");
    expect(instance.set_filter(name, "s32 > 1 && text == \"near 2\" && far == \"far\""), "filter");
    expect(instance.enable(name), "enable");
    REQUIRE(static_cast<bool>(event));
    for (std::int32_t number : {1, 2, 3})
        write_everything(event, number);
    const auto records = instance.records();
    instance.disable(name);
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("s32") == 2);
}
