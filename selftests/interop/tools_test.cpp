// SPDX-License-Identifier: GPL-2.0-only
// Debian's unmodified trace-cmd reports what the program wrote.
#include "catch.hpp"
#include "every_type.hpp"
#include "text_file.hpp"
#include "tool.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

using namespace selftest;

TEST_CASE("trace-cmd records and reports every field type", "[waits][tool:trace-cmd]") {
    EveryType every;
    const TemporaryDirectory directory;
    const std::int32_t above = GENERATE(0, 3);
    const std::string filter = above ? " -f 'c > 3 && n != \"near 9\"'" : "";
    CAPTURE(filter);
    const std::string file = directory.file("trace.dat");
    std::vector<std::string> expected;
    bool enabled = false;
    record_with(directory, "trace-cmd record -q -e " + every.full_name() + filter + " -o " + file,
                [&] {
                    enabled = every.word == 1;
                    expected = write_records(every, above);
                });
    CHECK(enabled);
    CHECK(every.word == 0);
    const auto reported =
        printed_fields(output_of(directory, "trace-cmd report -i " + file), every.event);
    CHECK(expected.size() == static_cast<std::size_t>(every_type_records - above));
    CHECK(reported == expected);
}

TEST_CASE("trace-cmd sets triggers and records stack traces") {
    ShellEvent event;
    const TemporaryDirectory directory;
    const std::string hist = tracing_file("events/user_events/" + event.event.name() + "/hist");
    output_of(directory, "trace-cmd start -e " + event.full_name() + " -R hist:keys=a");
    CHECK(event.word == 1);
    for (std::uint8_t a : {1, 2, 2})
        CHECK(event.record(a) == succeeds(5));
    const std::string counted = read_text(hist);
    const std::string shown = output_of(directory, "trace-cmd show");
    output_of(directory, "trace-cmd reset");
    CHECK(event.word == 0);
    CHECK(counted.find("{ a:          2 } hitcount:          2\n") != std::string::npos);
    CHECK(printed_fields(shown, event.event) == std::vector<std::string>{"a=1", "a=2", "a=2"});

    const std::string file = directory.file("trace.dat");
    record_with(directory, "trace-cmd record -q -T -e " + event.full_name() + " -o " + file,
                [&] { CHECK(event.record(3) == succeeds(5)); });
    const std::string report = output_of(directory, "trace-cmd report -i " + file);
    CHECK(printed_fields(report, event.event) == std::vector<std::string>{"a=3"});
    CHECK(report.find("=> vfs_write") != std::string::npos);
}
