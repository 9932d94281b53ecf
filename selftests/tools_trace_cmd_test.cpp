// SPDX-License-Identifier: GPL-2.0-only
// Debian's trace-cmd, as it is: whom it records, and names with a dot.
#include "text_file.hpp"
#include "tool.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

using namespace selftest;

TEST_CASE("trace-cmd records a process, or a command with its children") {
    ShellEvent event;
    const Folder folder;
    const std::string file = folder.file("trace.dat");
    const std::string record = "trace-cmd record -q -e " + event.full_name() + " -o " + file;
    const auto reported = [&] {
        return fields_in(output_of(folder, "trace-cmd report -i " + file), event.event);
    };
    using Lines = std::vector<std::string>;
    SECTION("a process, not its child") {
        record_with(folder, record + " -P " + std::to_string(getpid()), [&] {
            CHECK(event.record(7).ok());
            output_of(folder, event.command(folder));
        });
        CHECK(reported() == Lines{"a=7"});
    }
    SECTION("a command, not its child") {
        output_of(folder, record + " -F " + event.command(folder));
        CHECK(reported() == Lines{"a=1"});
    }
    SECTION("a command with its children, not this process") {
        record_with(folder, record + " -c -F /bin/sh -c '" + event.command(folder) + "; WAIT'",
                    [&] { CHECK(event.record(7).ok()); });
        CHECK(reported() == Lines{"a=1", "a=2"});
    }
    CHECK(event.word == 0);
}

// libtraceevent does not take a name with a dot in it: trace-cmd 3.1 records such an event and then
// knows nothing of it; what the kernel prints is all that it can show. perf 6.1 falls over it.
TEST_CASE("trace-cmd shows an event of one format of several") {
    Word word{0};
    DataFile file;
    const std::string name = unique_name("multi");
    const std::uint32_t index =
        file.index_of(&word, 0, name + " u32 a", 4, USER_EVENT_REG_MULTI_FORMAT);
    std::string tracepoint;
    for (const std::string& line : lines_of(status()))
        if (line.starts_with(name + "."))
            tracepoint = line.substr(0, line.find(' '));
    const Event event(tracepoint, USER_EVENTS_MULTI_SYSTEM);
    const Folder folder;
    output_of(folder, "trace-cmd start -e user_events_multi:" + event.name() + " -f 'a > 1'");
    CHECK(word == 1);
    for (std::uint32_t a : {1, 2})
        CHECK(file.record(index, Payload().add(a)) == succeeds(8));
    const std::string shown = output_of(folder, "trace-cmd show");
    output_of(folder, "trace-cmd reset");
    CHECK(word == 0);
    CHECK(fields_in(shown, event) == std::vector<std::string>{"a=2"});
}
