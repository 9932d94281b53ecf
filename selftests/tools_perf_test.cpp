// SPDX-License-Identifier: GPL-2.0-only
// Debian's perf, as it is: whose records it counts and samples, where they came from, and how it
// reports them.
#include "every_type.hpp"
#include "text_file.hpp"
#include "tool.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include "on_cpu.hpp"

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <thread>

using namespace selftest;

namespace {

using Lines = std::vector<std::string>;

/// perf reads all symbols of the kernel each time, which takes an emulated machine most of the time
/// and is not what these tests are about. Here the kernel has those alone that perf asks for.
class FewSymbols : public Catch::TestEventListenerBase {
public:
    using TestEventListenerBase::TestEventListenerBase;

    void testRunStarting(const Catch::TestRunInfo&) override {
        std::string symbols;
        for (const std::string& line : lines_of(read_text("/proc/kallsyms")))
            for (const char* name : {" _text", " _stext", " _etext", " _end", " vfs_write"})
                if (line.ends_with(name))
                    symbols += line + "\n";
        const std::string file = "/tmp/" + unique_name("symbols");
        expect(write_text(file, symbols, O_CREAT), "write " + file);
        if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, "") != 0 ||
            mount(file.c_str(), "/proc/kallsyms", "", MS_BIND, "") != 0)
            throw_errno("shorten /proc/kallsyms");
    }
};
CATCH_REGISTER_LISTENER(FewSymbols)

/// What BPF programs come meanwhile is none of a test's business, and takes perf half its time.
const std::string perf_record = "perf record -q --no-bpf-event";

/// What `perf stat -x,` counted of an event: the number at the start of its line.
std::string counted(const std::string& stat, const std::string& full_name) {
    for (const std::string& line : lines_of(stat))
        if (line.find(",," + full_name + ",") != std::string::npos)
            return line.substr(0, line.find(','));
    return "nothing in " + stat;
}

/// How often a text stands in another one.
std::size_t occurrences(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        count++;
    return count;
}

} // namespace

TEST_CASE("perf records and reports every field type") {
    EveryType every;
    const Folder folder;
    const std::int32_t above = GENERATE(0, 3);
    const std::string filter = above ? " --filter 'c > 3 && n != \"near 9\"'" : "";
    CAPTURE(filter);
    const std::string file = folder.file("perf.data");
    std::vector<std::string> expected;
    bool enabled = false;
    record_with(folder,
                perf_record + " -a --no-buildid -e " + every.full_name() + filter + " -o " + file,
                [&] {
                    enabled = every.word == 1;
                    expected = write_records(every, above);
                });
    CHECK(enabled);
    CHECK(every.word == 0);
    const auto reported = fields_in(
        output_of(folder, "perf script -F event,trace -i " + file + " 2>/dev/null"), every.event);
    CHECK(expected.size() == static_cast<std::size_t>(records - above));
    CHECK(reported == expected);
}

TEST_CASE("perf finds the call that wrote") {
    EveryType every;
    const Folder folder;
    const std::string file = folder.file("perf.data");
    record_with(folder, perf_record + " -a -g -e " + every.full_name() + " -o " + file,
                [&] { write_records(every); });
    const std::string script =
        output_of(folder, "perf script -F comm,ip,sym,dso -i " + file + " 2>/dev/null");
    std::size_t first_frames = 0, in_libc = 0;
    const auto lines = lines_of(script);
    for (std::size_t i = 0; i + 1 < lines.size(); i++)
        if (lines[i].starts_with("tools_perf_test")) {
            first_frames++;
            in_libc += lines[i + 1].find("libc.so") != std::string::npos;
        }
    CAPTURE(script);
    CHECK(first_frames == records);
    CHECK(in_libc == records);
}

TEST_CASE("perf stat counts the records of a command, with its children's where they inherit it") {
    ShellEvent event, other;
    const Folder folder;
    const std::string file = folder.file("stat"), stat = "perf stat -x, -o " + file + " -e ";
    const auto count = [&](const std::string& options, const ShellEvent& of) {
        record_with(folder, stat + options + " /bin/sh -c '" + event.command(folder) + "; WAIT'",
                    [&] {
                        CHECK(event.word == 1);
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
    const Folder folder;
    const std::string file = folder.file("stat"),
                      stat = "perf stat -x, -o " + file + " -e " + event.full_name();
    const auto write = [&] {
        const OnCpu on_cpu(1);
        for (std::uint8_t a : {1, 2, 3})
            CHECK(event.record(a) == succeeds(5));
        output_of(folder, event.command(folder));
    };
    record_with(folder, stat + " -p " + std::to_string(getpid()), write);
    CHECK(counted(read_text(file), event.full_name()) == "5");
    record_with(folder, stat + " -C 1", write);
    CHECK(counted(read_text(file), event.full_name()) == "5");
    record_with(folder, stat + " -C 0", write);
    CHECK(counted(read_text(file), event.full_name()) == "0");
}

TEST_CASE("perf samples a command, its children, a process") {
    ShellEvent event;
    const Folder folder;
    const std::string file = folder.file("perf.data");
    const std::string record =
        perf_record + " --no-buildid -e " + event.full_name() + " -o " + file + " ";
    const auto sampled = [&] {
        return fields_in(
            output_of(folder, "perf script -F event,trace -i " + file + " 2>/dev/null"),
            event.event);
    };
    SECTION("a command and its children") {
        output_of(folder, record + event.command(folder));
        CHECK(sampled() == Lines{"a=1", "a=2"});
    }
    SECTION("a command, its children not") {
        output_of(folder, record + "-i " + event.command(folder));
        CHECK(sampled() == Lines{"a=1"});
    }
    SECTION("a process") {
        record_with(folder, record + "-p " + std::to_string(getpid()),
                    [&] { CHECK(event.record(7) == succeeds(5)); });
        CHECK(sampled() == Lines{"a=7"});
    }
    SECTION("a CPU") {
        record_with(folder, record + "-C 1", [&] {
            for (int cpu : {0, 1}) {
                const OnCpu on_cpu(cpu);
                CHECK(event.record(static_cast<std::uint8_t>(cpu + 10)) == succeeds(5));
            }
        });
        CHECK(sampled() == Lines{"a=11"});
    }
    CHECK(event.word == 0);
}

TEST_CASE("perf report says who wrote, and from where") {
    ShellEvent event;
    const Folder folder;
    const std::string file = folder.file("perf.data");
    record_with(folder, perf_record + " -a -g --no-buildid -e " + event.full_name() + " -o " + file,
                [&] {
                    for (std::uint8_t a : {1, 1, 1, 2})
                        CHECK(event.record(a) == succeeds(5));
                });
    const std::string report = "perf report --stdio --no-children -g none -i " + file;
    const std::string places = output_of(folder, report + " --sort comm,dso,sym 2>/dev/null");
    CAPTURE(places);
    CHECK(occurrences(places, "event '" + event.full_name() + "'") == 1);
    CHECK(occurrences(places, "100.00%  tools_perf_test  libc.so.6") == 1);
    const std::string fields = output_of(folder, report + " --sort trace_fields 2>/dev/null");
    CAPTURE(fields);
    CHECK(occurrences(fields, "75.00%") == 1);
    CHECK(occurrences(fields, "25.00%") == 1);
}

TEST_CASE("perf unwinds the program's stack") {
    ShellEvent event;
    const Folder folder;
    const std::string file = folder.file("perf.data");
    record_with(folder,
                perf_record + " -a --call-graph dwarf --no-buildid -e " + event.full_name() +
                    " -o " + file,
                [&] { CHECK(event.record(1) == succeeds(5)); });
    const std::string script =
        output_of(folder, "perf script --no-inline -F comm,ip,sym,dso -i " + file + " 2>/dev/null");
    CAPTURE(script);
    // From the system call outwards.
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
TEST_CASE("perf trace prints records") {
    ShellEvent event;
    Word word{0};
    DataFile data;
    const Event other(unique_name("traced"));
    const std::uint32_t index =
        data.index_of(&word, 0, other.name() + " s32 a; __data_loc char[] text; u64 b");
    const Folder folder;
    const std::string file = folder.file("trace");
    record_with(folder,
                "perf trace --no-syscalls -a -o " + file + " -e " + event.full_name() +
                    " -e user_events:" + other.name(),
                [&] {
                    CHECK(event.record(200) == succeeds(5));
                    CHECK(data.record(index, Payload()
                                                 .add<std::int32_t>(5)
                                                 .add<std::uint32_t>(DYN_LOC(24, 4))
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
