// SPDX-License-Identifier: GPL-2.0-only
// Debian's unmodified tools: of which programs they set the enable bits, and that rules for some
// programs, or with a limit, take nothing from them.
#include "few_symbols.hpp"

#include "control_group.hpp"
#include "deadline.hpp"
#include "limited.hpp"
#include "program.hpp"
#include "rule.hpp"
#include "text_file.hpp"
#include "tool.hpp"
#include "tracing.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>

using namespace selftest;

namespace {

/// Two programs with an event that the test's own process does not have.
struct Pair {
    std::string full_name() const { return kept.event.system() + ":" + kept.event.name(); }
    std::string of_target() const { return "pid=" + std::to_string(target.pid()); }
    int bits() { return target.bit() + 2 * other.bit(); }
    /// Each writes a record, without a look at its bit.
    void record() {
        CHECK(target.ask(Request::record) == 0);
        CHECK(other.ask(Request::record) == 0);
    }

    Kept kept;
    Program target{kept.event}, other{kept.event};
};

/// What a tool counted: the first number of the line with a text.
unsigned long number_in(const std::string& output, const std::string& text) {
    for (const std::string& line : lines_of(output))
        if (line.find(text) != std::string::npos)
            return std::strtoul(&line[line.find_first_of("0123456789")], nullptr, 10);
    return 0;
}

} // namespace

TEST_CASE(
    "perf record -p, -t and -u set the bits of the programs that they record, and of no other",
    "[waits][tool:perf][tool:trace-cmd][tool:bpftrace][btf]") {
    Pair pair;
    const std::string which = GENERATE("-p", "-t", "-u");
    CAPTURE(which);
    // The user of the target is root, whose name perf wants to know.
    std::filesystem::create_directories("/etc");
    if (!exists("/etc/passwd"))
        std::ofstream("/etc/passwd") << "root:x:0:0::/:/bin/sh\n";
    REQUIRE(pair.other.ask(Request::become_nobody) == 0);
    const ToolFile file(ToolFile::perf);
    const std::string value = which == "-u" ? "0" : std::to_string(pair.target.pid());
    file.record(which + " " + value + " -e " + pair.full_name(), [&] {
        CHECK(pair.bits() == 1);
        pair.record();
        // Children inherit, but for -t.
        CHECK(pair.target.ask(Request::fork) == (which != "-t"));
        CHECK(pair.other.ask(Request::fork) == 0);
    });
    CHECK(pair.bits() == 0);
    CHECK(file.fields(pair.kept.event).size() == 1);
}

TEST_CASE("perf record -p without inheritance leaves the bits of children 0") {
    Pair pair;
    const ToolFile file(ToolFile::perf);
    file.record("-i -p " + std::to_string(pair.target.pid()) + " -e " + pair.full_name(), [&] {
        CHECK(pair.bits() == 1);
        CHECK(pair.target.ask(Request::fork) == 0);
    });
    CHECK(pair.bits() == 0);
}

TEST_CASE("perf record -a and -G set the bits of all programs, and -G records those of its group") {
    Pair pair;
    const bool of_group = GENERATE(false, true);
    CAPTURE(of_group);
    const ControlGroup group("pids");
    const std::filesystem::path path = group.path();
    group.set("cgroup.procs", std::to_string(pair.target.pid()));
    const ToolFile file(ToolFile::perf);
    file.record("-a -e " + pair.full_name() + (of_group ? " -G " + path.filename().string() : ""),
                [&] {
                    CHECK(pair.bits() == 3);
                    pair.record();
                });
    CHECK(pair.bits() == 0);
    CHECK(file.fields(pair.kept.event).size() == (of_group ? 1 : 2));
    expect(write_text(path.parent_path() / "cgroup.procs", std::to_string(pair.target.pid())),
           "leave the group");
}

TEST_CASE("perf and trace-cmd record all programs beside a rule for one of them") {
    Pair pair;
    Instance instance;
    const Rule rule(rule_text(pair.kept.event, instance, pair.of_target()));
    CHECK(pair.bits() == 1);
    const ToolFile::Tool tool = GENERATE(ToolFile::perf, ToolFile::trace_cmd);
    CAPTURE(tool == ToolFile::perf);
    const ToolFile file(tool);
    file.record((tool == ToolFile::perf ? "-a -e " : "-e ") + pair.full_name(), [&] {
        CHECK(pair.bits() == 3);
        pair.record();
    });
    CHECK(pair.bits() == 1);
    CHECK(file.fields(pair.kept.event).size() == 2);
    // What the rule records is an instance that trace-cmd shows.
    const std::string shown = output_of(file.directory, "trace-cmd show -B " + instance.name());
    CHECK(printed_fields(shown, pair.kept.event).size() == 1);
}

TEST_CASE("trace-cmd extracts what a rule for one program has recorded") {
    Pair pair;
    Instance instance;
    const Rule rule(rule_text(pair.kept.event, instance, pair.of_target()));
    pair.record();
    const TemporaryDirectory directory;
    const std::string file = directory.file("extracted");
    output_of(directory, "trace-cmd extract -B " + instance.name() + " -o " + file);
    const std::string report = output_of(directory, "trace-cmd report -i " + file);
    CAPTURE(report);
    CHECK(printed_fields(report, pair.kept.event).size() == 1);
}

TEST_CASE("bpftrace counts all programs beside a rule for one of them, and beside perf of one") {
    Pair pair;
    Instance instance;
    const Rule rule(rule_text(pair.kept.event, instance, pair.of_target()));
    const TemporaryDirectory directory;
    const std::string output = record_with(
        directory,
        "bpftrace -e 'tracepoint:" + pair.full_name() + " { @of[pid] = count(); }' -c 'WAIT'", [&] {
            CHECK(pair.bits() == 3);
            pair.record();
            pair.record();
        });
    CAPTURE(output);
    CHECK(pair.bits() == 1);
    for (const Program* program : {&pair.target, &pair.other})
        CHECK(has_line(output, "@of[" + std::to_string(program->pid()) + "]: 2"));
    CHECK(instance.records().size() == 2);
}

TEST_CASE("perf, trace-cmd and bpftrace get each record of a program that exceeds a rule's limit") {
    Pair pair;
    Instance instance;
    const Rule rule(rule_text(pair.kept.event, instance, "limit=1/s/program"));
    const std::string tool = GENERATE("perf", "trace-cmd", "bpftrace");
    CAPTURE(tool);
    const TemporaryDirectory directory;
    const std::string file = directory.file("file");
    const std::string command =
        tool == "perf" ? "perf stat -x, -o " + file + " -a -e " + pair.full_name()
        : tool == "trace-cmd"
            ? "trace-cmd record -q -b 4096 -o " + file + " -e " + pair.full_name()
            : "bpftrace -e 'tracepoint:" + pair.full_name() + " { @records = count(); }' -c 'WAIT'";
    std::string output = record_with(directory, command, [&] {
        CHECK(pair.target.ask(Request::flood) == 0);
        // While something else records the program, the limit is no reason for a bit that is 0.
        CHECK(pair.target.bit() == 1);
    });
    unsigned long counted = 0;
    if (tool == "trace-cmd") {
        output = output_of(directory, "trace-cmd report -i " + file);
        counted = printed_fields(output, pair.kept.event).size();
    } else {
        counted = number_in(tool == "perf" ? read_text(file) : output,
                            tool == "perf" ? pair.full_name() : "@records");
    }
    CHECK(counted == flood_size);
    CHECK(instance.records().size() + suppressed(rule.comment()) == flood_size);
}
