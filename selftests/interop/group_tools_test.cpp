// SPDX-License-Identifier: GPL-2.0-only
// Debian's unmodified tools tell events of several groups apart that have the same name.
#include "catch.hpp"
#include "group.hpp"
#include "text_file.hpp"
#include "tool.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <iterator>

using namespace selftest;

namespace {

using Lines = std::vector<std::string>;

/// An event of one name in two groups, with different fields.
struct Twins {
    Twins() {
        for (unsigned i = 0; i < 2; i++)
            files[i].must_register(&words[i], 0, name + fields[i]);
    }

    std::string full_name(unsigned i) const { return groups[i].system() + ":" + name; }
    /// perf records a command, unless it is asked for everything.
    static std::string all(ToolFile::Tool tool) { return tool == ToolFile::perf ? "-a " : ""; }
    std::string both() const { return "-e " + full_name(0) + " -e " + full_name(1); }
    /// Writes a record of each event.
    void record() {
        CHECK(words[0] == 1);
        CHECK(words[1] == 1);
        CHECK(files[0].record(0, Payload().add<std::uint32_t>(7)).ok());
        CHECK(files[1].record(0, Payload().add<std::uint64_t>(8).add<std::uint64_t>(9)).ok());
    }

    const std::string name = unique_name("twin");
    const char* fields[2] = {" u32 a", " u64 b; u64 c"};
    Word words[2] = {};
    Group groups[2];
    DataFile files[2] = {groups[0].open(), groups[1].open()};
};

} // namespace

TEST_CASE("perf and trace-cmd record events of groups apart, and report each with its fields",
          "[waits][tool:perf][tool:trace-cmd][tool:bpftrace][btf]") {
    Twins twins;
    const ToolFile::Tool tool = GENERATE(ToolFile::perf, ToolFile::trace_cmd);
    CAPTURE(tool == ToolFile::perf);
    {
        const ToolFile file(tool);
        file.record(Twins::all(tool) + twins.both(), [&] { twins.record(); });
        CHECK(file.fields(Event(twins.name)) == Lines{"a=7", "b=8 c=9"});
    }
    const ToolFile file(tool);
    file.record(Twins::all(tool) + "-e " + twins.full_name(1), [&] {
        CHECK(twins.words[0] == 0);
        CHECK(twins.words[1] == 1);
        CHECK(twins.files[1].record(0, Payload().add<std::uint64_t>(1).add<std::uint64_t>(2)).ok());
    });
    CHECK(file.fields(Event(twins.name)) == Lines{"b=1 c=2"});
}

TEST_CASE("bpftrace selects events by the system of a group") {
    Twins twins;
    const TemporaryDirectory directory;
    const std::string output =
        record_with(directory,
                    "bpftrace -e 'tracepoint:" + twins.full_name(0) +
                        " { @sum = sum(args->a); } tracepoint:" + twins.full_name(1) +
                        " { @other = sum(args->c); }' -c 'WAIT'",
                    [&] {
                        twins.record();
                        twins.record();
                    });
    CAPTURE(output);
    CHECK(output.find("@sum: 14\n") != std::string::npos);
    CHECK(output.find("@other: 18\n") != std::string::npos);
}

TEST_CASE("An event probe and a synthetic event are made from an event of a group") {
    Twins twins;
    const Event probe(unique_name("probe"), "eprobes"), made(unique_name("made"), "synthetic");
    Instance instance;
    const Definition eprobe("dynamic_events",
                            "e:eprobes/" + probe.name() + " " + twins.groups[1].system() + "." +
                                twins.name + " sum=$c:u64",
                            "-:eprobes/" + probe.name());
    const Definition synthetic("synthetic_events", made.name() + " u32 value", "!" + made.name());
    const std::string trigger = "hist:keys=a:value=a:onmatch(" + twins.groups[0].system() + "." +
                                twins.name + ").trace(" + made.name() + ",$value)";
    const std::string file = twins.groups[0].event(twins.name).path("trigger");
    REQUIRE(write_text(file, trigger).ok());
    REQUIRE(instance.enable(probe) == succeeds());
    REQUIRE(instance.enable(made) == succeeds());
    twins.record();
    const std::string trace = read_text(instance.path("trace"));
    CAPTURE(trace);
    CHECK(trace.find(probe.name() + ": (" + twins.groups[1].system() + "." + twins.name +
                     ") sum=9") != std::string::npos);
    CHECK(trace.find(made.name() + ": value=7") != std::string::npos);
    REQUIRE(instance.disable(probe) == succeeds());
    REQUIRE(instance.disable(made) == succeeds());
    REQUIRE(write_text(file, "!" + trigger).ok());
}
