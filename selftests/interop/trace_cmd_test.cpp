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
    check_reported(ToolFile::trace_cmd, "", "-f");
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

    const ToolFile file(ToolFile::trace_cmd);
    file.record("-T -e " + event.full_name(), [&] { CHECK(event.record(3) == succeeds(5)); });
    CHECK(file.fields(event.event) == std::vector<std::string>{"a=3"});
    CHECK(file.report("report").find("=> vfs_write") != std::string::npos);
}

TEST_CASE("trace-cmd records a process, a command, or a command with its children") {
    ShellEvent event;
    const ToolFile file(ToolFile::trace_cmd);
    const TemporaryDirectory& directory = file.directory;
    const std::string command = event.command(directory),
                      record = file.record_command("-e " + event.full_name());
    using Lines = std::vector<std::string>;
    SECTION("process without its child") {
        record_with(directory, record + " -P " + std::to_string(getpid()), [&] {
            CHECK(event.record(7).ok());
            output_of(directory, command);
        });
        CHECK(file.fields(event.event) == Lines{"a=7"});
    }
    SECTION("command without its child") {
        output_of(directory, record + " -F " + command);
        CHECK(file.fields(event.event) == Lines{"a=1"});
    }
    SECTION("command with its children, without the test's process") {
        record_with(directory, record + " -c -F /bin/sh -c '" + command + "; WAIT'",
                    [&] { CHECK(event.record(7).ok()); });
        CHECK(file.fields(event.event) == Lines{"a=1", "a=2"});
    }
    CHECK(event.word == 0);
}

TEST_CASE("trace-cmd reports the text of a mark, and the type and the size of data") {
    const ToolFile file(ToolFile::trace_cmd);
    file.record("-e user_mark", [] {
        MarkFile marks(O_RDWR);
        CHECK(marks.write("phase 1\n") == succeeds(8));
        CHECK(marks.mark(7, "\x01\xab\xff") == succeeds());
    });
    CHECK(file.fields(mark_text) == std::vector<std::string>{"text=phase 1"});
    CHECK(file.fields(mark_data) == std::vector<std::string>{"type=7 size=3"});
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
