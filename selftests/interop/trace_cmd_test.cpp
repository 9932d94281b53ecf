// SPDX-License-Identifier: GPL-2.0-only
// Debian's unmodified trace-cmd: fields, triggers and stack traces, which tasks it records, marks,
// and event names with a dot.
#include "catch.hpp"
#include "every_type.hpp"
#include "mark.hpp"
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

TEST_CASE("trace-cmd records a process, a command, or a command with its children") {
    ShellEvent event;
    const TemporaryDirectory directory;
    const std::string file = directory.file("trace.dat");
    const std::string record = "trace-cmd record -q -e " + event.full_name() + " -o " + file;
    const auto reported = [&] {
        return printed_fields(output_of(directory, "trace-cmd report -i " + file), event.event);
    };
    using Lines = std::vector<std::string>;
    SECTION("process without its child") {
        record_with(directory, record + " -P " + std::to_string(getpid()), [&] {
            CHECK(event.record(7).ok());
            output_of(directory, event.command(directory));
        });
        CHECK(reported() == Lines{"a=7"});
    }
    SECTION("command without its child") {
        output_of(directory, record + " -F " + event.command(directory));
        CHECK(reported() == Lines{"a=1"});
    }
    SECTION("command with its children, without the test's process") {
        record_with(directory,
                    record + " -c -F /bin/sh -c '" + event.command(directory) + "; WAIT'",
                    [&] { CHECK(event.record(7).ok()); });
        CHECK(reported() == Lines{"a=1", "a=2"});
    }
    CHECK(event.word == 0);
}

TEST_CASE("trace-cmd reports the text of a mark, and the type and the size of data") {
    const TemporaryDirectory directory;
    const std::string file = directory.file("trace.dat");
    record_with(directory, "trace-cmd record -q -e user_mark -o " + file, [] {
        MarkFile marks(O_RDWR);
        CHECK(marks.write("phase 1\n") == succeeds(8));
        CHECK(marks.mark(7, "\x01\xab\xff") == succeeds());
    });
    const std::string report = output_of(directory, "trace-cmd report -i " + file);
    CHECK(printed_fields(report, mark_text) == std::vector<std::string>{"text=phase 1"});
    CHECK(printed_fields(report, mark_data) == std::vector<std::string>{"type=7 size=3"});
}

// libtraceevent does not parse names with a dot. trace-cmd records such an event but cannot
// report it, and shows only what the kernel prints. perf 6.1 and 6.12 crash.
TEST_CASE("trace-cmd start and show work with a multi-format event") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("multi");
    const std::uint32_t index =
        file.must_register(&word, 0, name + " u32 a", 4, USER_EVENT_REG_MULTI_FORMAT);
    std::string tracepoint;
    for (const std::string& line : lines_of(status()))
        if (line.starts_with(name + "."))
            tracepoint = line.substr(0, line.find(' '));
    const Event event(tracepoint, USER_EVENTS_MULTI_SYSTEM);
    const TemporaryDirectory directory;
    output_of(directory, "trace-cmd start -e user_events_multi:" + event.name() + " -f 'a > 1'");
    CHECK(word == 1);
    for (std::uint32_t a : {1, 2})
        CHECK(file.record(index, Payload().add(a)) == succeeds(8));
    const std::string shown = output_of(directory, "trace-cmd show");
    output_of(directory, "trace-cmd reset");
    CHECK(word == 0);
    CHECK(printed_fields(shown, event) == std::vector<std::string>{"a=2"});
}
