// SPDX-License-Identifier: GPL-2.0-only
// Debian's unmodified perf: which tasks' records it counts and samples, the call graphs, and how it
// reports them.
#include "few_symbols.hpp"

#include "every_type.hpp"
#include "on_cpu.hpp"
#include "text_file.hpp"
#include "tool.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <thread>

using namespace selftest;

namespace {

using Lines = std::vector<std::string>;

/// What `perf stat -x,` counted for an event: the number at the start of its line.
std::string counted(const std::string& stat, const std::string& full_name) {
    for (const std::string& line : lines_of(stat))
        if (line.find(",," + full_name + ",") != std::string::npos)
            return line.substr(0, line.find(','));
    return "nothing in " + stat;
}

std::size_t occurrences(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        count++;
    return count;
}

} // namespace

TEST_CASE("perf records and reports every field type", "[waits][tool:perf]") {
    check_reported(ToolFile::perf, "-a", "--filter");
}

TEST_CASE("With perf record -g, the call graph of a write starts in libc") {
    constexpr std::uint8_t records = 5;
    ShellEvent event;
    const ToolFile file(ToolFile::perf);
    file.record("-a -g -e " + event.full_name(), [&] {
        for (std::uint8_t a = 0; a < records; a++)
            CHECK(event.record(a) == succeeds(5));
    });
    const std::string script = file.report("script -F comm,ip,sym,dso");
    std::size_t first_frames = 0, in_libc = 0;
    const auto lines = lines_of(script);
    for (std::size_t i = 0; i + 1 < lines.size(); i++)
        if (lines[i].starts_with("perf_tool_test")) {
            first_frames++;
            in_libc += lines[i + 1].find("libc.so") != std::string::npos;
        }
    CAPTURE(script);
    CHECK(first_frames == records);
    CHECK(in_libc == records);
}

TEST_CASE("perf stat counts the records of a command with its children, and of all tasks with -a") {
    ShellEvent event, other;
    const TemporaryDirectory directory;
    const std::string file = directory.file("stat"), stat = "perf stat -x, -o " + file + " -e ";
    const auto count = [&](const std::string& options, const ShellEvent& of) {
        record_with(directory,
                    stat + options + " /bin/sh -c '" + event.command(directory) + "; WAIT'", [&] {
                        // This process is recorded with -a only.
                        CHECK(event.word == options.ends_with("-a"));
                        CHECK(event.record(7).ok());
                        other.record(7);
                    });
        return counted(read_text(file), of.full_name());
    };
    CHECK(count(event.full_name(), event) == "2");
    CHECK(count(event.full_name() + " --filter a==2", event) == "1");
    CHECK(count(event.full_name() + " -e " + other.full_name() + " -a", event) == "3");
    CHECK(counted(read_text(file), other.full_name()) == "1");
    CHECK(event.word == 0);
}

TEST_CASE("perf stat counts the records of a process or of a CPU") {
    ShellEvent event;
    const TemporaryDirectory directory;
    const std::string file = directory.file("stat"),
                      stat = "perf stat -x, -o " + file + " -e " + event.full_name();
    const auto write = [&] {
        const OnCpu on_cpu(1);
        for (std::uint8_t a : {1, 2, 3})
            CHECK(event.record(a) == succeeds(5));
        output_of(directory, event.command(directory));
    };
    record_with(directory, stat + " -p " + std::to_string(getpid()), write);
    CHECK(counted(read_text(file), event.full_name()) == "5");
    record_with(directory, stat + " -C 1", write);
    CHECK(counted(read_text(file), event.full_name()) == "5");
    record_with(directory, stat + " -C 0", write);
    CHECK(counted(read_text(file), event.full_name()) == "0");
}

TEST_CASE("perf record samples a command, its children, a process or a CPU") {
    ShellEvent event;
    const ToolFile file(ToolFile::perf);
    const std::string command = event.command(file.directory),
                      record = file.record_command("-e " + event.full_name()) + " ";
    const auto sampled = [&] { return file.fields(event.event); };
    SECTION("command and its children") {
        output_of(file.directory, record + command);
        CHECK(sampled() == Lines{"a=1", "a=2"});
    }
    SECTION("command without its children") {
        output_of(file.directory, record + "-i " + command);
        CHECK(sampled() == Lines{"a=1"});
    }
    SECTION("process") {
        record_with(file.directory, record + "-p " + std::to_string(getpid()),
                    [&] { CHECK(event.record(7) == succeeds(5)); });
        CHECK(sampled() == Lines{"a=7"});
    }
    SECTION("CPU") {
        record_with(file.directory, record + "-C 1", [&] {
            for (int cpu : {0, 1}) {
                const OnCpu on_cpu(cpu);
                CHECK(event.record(static_cast<std::uint8_t>(cpu + 10)) == succeeds(5));
            }
        });
        CHECK(sampled() == Lines{"a=11"});
    }
    CHECK(event.word == 0);
}

TEST_CASE(
    "perf record takes the events of a pattern that exist when it starts, or fails if none does") {
    const std::string name = unique_name("pattern"), options = "-a -e 'user_events:" + name + "_*'";
    const Event first(name + "_first"), later(name + "_later");
    const ToolFile file(ToolFile::perf);
    bool started = false;
    CHECK_THROWS_AS(file.record(options, [&] { started = true; }), std::runtime_error);
    CHECK_FALSE(started);
    // As the user guide does it, before a program has registered the event.
    const Definition created("dynamic_events", "u:" + first.name() + " u8 a", "-:" + first.name());
    file.record(options, [&] {
        Word word{0};
        DataFile data;
        for (const Event* event : {&first, &later}) {
            const std::uint32_t index = data.must_register(&word, 0, event->name() + " u8 a");
            data.record(index, Payload().add(std::uint8_t{7}));
            data.unregister(&word, 0);
        }
    });
    CHECK(file.fields(first) == Lines{"a=7"});
    CHECK(file.fields(later).empty());
}

TEST_CASE("perf report shows the writing program, its library and the fields") {
    ShellEvent event;
    const ToolFile file(ToolFile::perf);
    file.record("-a -g -e " + event.full_name(), [&] {
        for (std::uint8_t a : {1, 1, 1, 2})
            CHECK(event.record(a) == succeeds(5));
    });
    const std::string report = "report --stdio --no-children -g none --sort ";
    const std::string writers = file.report(report + "comm,dso,sym");
    CAPTURE(writers);
    CHECK(occurrences(writers, "event '" + event.full_name() + "'") == 1);
    CHECK(occurrences(writers, "100.00%  perf_tool_test  libc.so.6") == 1);
    const std::string fields = file.report(report + "trace_fields");
    CAPTURE(fields);
    CHECK(occurrences(fields, "75.00%") == 1);
    CHECK(occurrences(fields, "25.00%") == 1);
}

TEST_CASE("perf record --call-graph dwarf unwinds the stack from write() to main()") {
    ShellEvent event;
    const ToolFile file(ToolFile::perf);
    file.record("-a --call-graph dwarf -e " + event.full_name(),
                [&] { CHECK(event.record(1) == succeeds(5)); });
    const std::string script = file.report("script --no-inline -F comm,ip,sym,dso");
    CAPTURE(script);
    const std::size_t system_call = script.find("libc.so.6"),
                      writer = script.find("selftest::DataFile::record"),
                      start = script.find(" main ");
    CHECK(system_call != std::string::npos);
    CHECK(writer != std::string::npos);
    CHECK(start != std::string::npos);
    CHECK(system_call < writer);
    CHECK(writer < start);
}

// perf trace 6.1 prints 32 bits as unsigned and 64 as signed, whatever the type.
TEST_CASE("perf trace prints records with their fields") {
    ShellEvent event;
    Word word{0};
    DataFile data;
    const Event other(unique_name("traced"));
    const std::uint32_t index =
        data.must_register(&word, 0, other.name() + " s32 a; __data_loc char[] text; u64 b");
    const TemporaryDirectory directory;
    const std::string file = directory.file("trace");
    record_with(directory,
                "perf trace --no-syscalls -a -o " + file + " -e " + event.full_name() +
                    " -e user_events:" + other.name(),
                [&] {
                    CHECK(event.record(200) == succeeds(5));
                    CHECK(data.record(index, Payload()
                                                 .add<std::int32_t>(5)
                                                 .add(location(24, 4))
                                                 .add<std::uint64_t>(9000000000)
                                                 .add_string("far"))
                              .ok());
                });
    const std::string traced = read_text(file);
    CAPTURE(traced);
    CHECK(occurrences(traced, event.full_name() + "(a: 200)\n") == 1);
    CHECK(occurrences(traced, "user_events:" + other.name() +
                                  "(a: 5, text: \"far\", b: 9000000000)\n") == 1);
}
