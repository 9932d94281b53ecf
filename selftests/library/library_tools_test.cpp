// SPDX-License-Identifier: GPL-2.0-only
// Events of the C++ library, recorded by Debian's unmodified trace-cmd and perf.
#include "catch.hpp"
#include "tool.hpp"
#include "tracing.hpp"

#include <user_events/user_events.hpp>

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

} // namespace

TEST_CASE("trace-cmd and perf report the fields as they were written",
          "[waits][tool:perf][tool:trace-cmd]") {
    const Everything event;
    REQUIRE(!event.error());
    const TemporaryDirectory directory;
    const Event name("library_everything");
    const bool with_perf = GENERATE(false, true);
    CAPTURE(with_perf);
    const std::string file = directory.file("recorded");
    std::vector<std::string> expected;
    record_with(directory,
                (with_perf ? "perf record -q --no-bpf-event -a --no-buildid -e "
                           : "trace-cmd record -q -e ") +
                    std::string("user_events:library_everything -o ") + file,
                [&] {
                    for (std::int32_t number : {1, 2, 3})
                        expected.push_back(write_everything(event, number));
                });
    CHECK(!event);
    std::vector<std::string> reported = printed_fields(
        output_of(directory, with_perf ? "perf script -F event,trace -i " + file + " 2>/dev/null"
                                       : "trace-cmd report -i " + file),
        name);
    // Bytes are printed in different ways.
    for (std::string& line : reported)
        line.resize(line.find(" bytes=") + 7);
    CHECK(reported == expected);
}

TEST_CASE("A filter of the kernel works on the fields of an event") {
    const Everything event;
    Instance instance;
    const Event name("library_everything");
    expect(instance.set_filter(name, "s32 > 1 && text == \"near 2\" && far == \"far\""), "filter");
    expect(instance.enable(name), "enable");
    for (std::int32_t number : {1, 2, 3})
        write_everything(event, number);
    const auto records = instance.records();
    instance.disable(name);
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("s32") == 2);
}
