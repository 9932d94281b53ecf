// SPDX-License-Identifier: GPL-2.0-only
// Debian's unmodified bpftrace counts, sums up and filters what the program wrote.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "text_file.hpp"
#include "tool.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>

using namespace selftest;

namespace {

constexpr std::int32_t records = 5;

/// Whether bpftrace looks for the bytes of a __data_loc field at four times their offset, as
/// version 0.23 does. Asks for a field of the kernel: the path of the program that is executed.
/// Throws std::runtime_error if it is not there either.
bool misplaces_locations() {
    const TemporaryDirectory directory;
    // The bytes follow three fields of 4 bytes.
    const std::string output = record_with(
        directory,
        "bpftrace -e 'tracepoint:sched:sched_process_exec /pid == cpid/ { printf(\"<%s> <%s>\\n\","
        " str(args->filename), str((uint8 *)args->filename - 3 * 20)); }' -c 'WAIT'",
        [] {});
    if (output.find("</bin/sh> <") != std::string::npos)
        return false;
    if (output.find("> </bin/sh>\n") != std::string::npos)
        return true;
    throw std::runtime_error("bpftrace does not find the path /bin/sh: " + output);
}

/// The text of a __data_loc field, as an expression of bpftrace's language. `offset` is where the
/// text is in the record.
std::string text_of(const std::string& field, int offset) {
    static const bool misplaced = misplaces_locations();
    return misplaced ? "str((uint8 *)args->" + field + " - 3 * " + std::to_string(offset) + ")"
                     : "str(args->" + field + ")";
}

} // namespace

// bpftrace does not read __rel_loc fields and expects fields to be aligned as in C.
TEST_CASE("bpftrace reads, prints and aggregates fields", "[waits][tool:bpftrace][btf]") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("bpftrace"));
    const std::uint32_t index = file.must_register(
        &word, 0,
        event.name() + " u32 a; s16 b; u16 d; __data_loc char[] far; u32 e; char[8] array; u64 c");
    const TemporaryDirectory directory;
    bool enabled = false;
    const std::string output = record_with(
        directory,
        "bpftrace -e 'tracepoint:user_events:" + event.name() +
            " { @sum = sum(args->a); @count[args->array] = count(); @of[args->b] = sum(args->c);"
            " printf(\"got %u %d %s %llu\\n\", args->a, args->b, " +
            text_of("far", 40) + ", args->c); }' -c 'WAIT'",
        [&] {
            enabled = word == 1;
            for (std::int16_t number = 1; number <= records; number++)
                expect(file.record(index,
                                   Payload()
                                       .add<std::uint32_t>(1000000000u * (number % 4))
                                       .add<std::int16_t>(static_cast<std::int16_t>(-(number % 2)))
                                       .add<std::uint16_t>(1)
                                       .add(location(40, 4))
                                       .add<std::uint32_t>(2)
                                       .add_characters({"array\0\0\0", 8})
                                       .add<std::uint64_t>(static_cast<std::uint64_t>(number))
                                       .add_string("far")),
                       "write");
        });
    CAPTURE(output);
    CHECK(enabled);
    CHECK(word == 0);
    for (const char* line : {"got 1000000000 -1 far 1", "got 2000000000 0 far 2",
                             "got 3000000000 -1 far 3", "got 0 0 far 4", "got 1000000000 -1 far 5",
                             "@sum: 7000000000", "@count[array]: 5", "@of[-1]: 9", "@of[0]: 6"}) {
        CAPTURE(line);
        CHECK(has_line(output, line));
    }
}

TEST_CASE("bpftrace filters by fields and makes histograms of them") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("bpftrace"));
    const std::uint32_t index =
        file.must_register(&word, 0, event.name() + " s32 a; __data_loc char[] text; u64 b");
    const TemporaryDirectory directory;
    const std::string probe = "tracepoint:user_events:" + event.name(), text = text_of("text", 24);
    const std::string output =
        record_with(directory,
                    "bpftrace -e '" + probe +
                        " { @hist = hist(args->b); @linear = lhist(args->a, 0, 40, 10);"
                        " @sum[" +
                        text + "] = sum(args->b); @least = min(args->a); } " + probe +
                        " /args->a == 3/ { @three = count(); } " + probe + " /" + text +
                        " == \"odd\" && args->b > 5/ { @odd = count(); } ' -c 'WAIT'",
                    [&] {
                        for (std::int32_t a : {-7, 3, 3, 12, 15, 18, 39, 1000})
                            expect(file.record(index, Payload()
                                                          .add(a)
                                                          .add(location(24, 4))
                                                          .add(static_cast<std::uint64_t>(a + 7))
                                                          .add_string(a % 2 ? "odd" : "evn")),
                                   "write");
                    });
    CAPTURE(output);
    CHECK(word == 0);
    const auto squeezed = [&] {
        std::vector<std::string> lines;
        for (const std::string& line : lines_of(output)) {
            std::string words;
            for (char character : line.substr(0, line.find('|')))
                if (character != ' ' || (!words.empty() && words.back() != ' '))
                    words += character;
            lines.push_back(words.substr(0, words.find_last_not_of(' ') + 1));
        }
        return lines;
    }();
    for (const char* line :
         {"@three: 2", "@odd: 4", "@least: -7", "@sum[odd]: 88", "@sum[evn]: 1051",
          // Of b: 0, 10, 10, 19, 22, 25, 46, 1007.
          "[8, 16) 2", "[16, 32) 3", "[32, 64) 1", "[512, 1K) 1",
          // Of a.
          "(..., 0) 1", "[0, 10) 2", "[10, 20) 3", "[20, 30) 0", "[30, 40) 1", "[40, ...) 1"}) {
        CAPTURE(line);
        CHECK(std::ranges::count(squeezed, line) == 1);
    }
}

// bpftrace 0.17 and 0.23 cannot read their fields: they generate a C structure whose name contains
// the dot.
TEST_CASE("bpftrace counts the records of each format of a multi-format event") {
    Word words[2] = {};
    DataFile file;
    const std::string name = unique_name("formats");
    const unsigned multi = USER_EVENT_REG_MULTI_FORMAT;
    const std::uint32_t first = file.must_register(&words[0], 0, name + " u32 a", 4, multi),
                        second = file.must_register(&words[1], 0, name + " u64 a", 4, multi);
    const TemporaryDirectory directory;
    const std::string output =
        record_with(directory,
                    "bpftrace -e 'tracepoint:user_events_multi:" + name +
                        ".* { @[probe] = count(); }' -c 'WAIT'",
                    [&] {
                        CHECK(words[0] == 1);
                        CHECK(words[1] == 1);
                        for (std::uint32_t a : {1, 2})
                            CHECK(file.record(first, Payload().add(a)) == succeeds(8));
                        CHECK(file.record(second, Payload().add<std::uint64_t>(1)) == succeeds(12));
                    });
    CAPTURE(output);
    CHECK(words[0] == 0);
    CHECK(words[1] == 0);
    std::size_t events = 0;
    for (const std::string& line : lines_of(status()))
        if (line.starts_with(name)) {
            const Event event(line, USER_EVENTS_MULTI_SYSTEM);
            const bool is_first = event.format().find("u32 a;") != std::string::npos;
            CAPTURE(line);
            CHECK(has_line(output, "@[tracepoint:user_events_multi:" + line +
                                       "]: " + (is_first ? "2" : "1")));
            events++;
        }
    CHECK(events == 2);
}

// They are called through trampolines of their own instead of ftrace's.
TEST_CASE("A child inherits registrations while BPF programs (fentry) are on forks and exits") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("fentry"));
    file.must_register(&word, 0, event.name());
    const TemporaryDirectory directory;
    unsigned followed = 0;
    const std::string output = record_with(
        directory,
        "bpftrace -e 'kfunc:uprobe_dup_mmap { @forks = count(); } kfunc:exit_mmap { @exits ="
        " count(); }' -c 'WAIT'",
        [&] {
            for (int round = 0; round < 3; round++)
                followed += in_child([&] {
                                const Enabled enabled{event};
                                return eventually([&] { return word == 1; }) ? 0 : 1;
                            }) == 0;
        });
    CAPTURE(output);
    CHECK(followed == 3);
    for (const char* const count : {"@forks: ", "@exits: "}) {
        const std::size_t at = output.find(count);
        REQUIRE(at != std::string::npos);
        CHECK(std::stoi(output.substr(at + 8)) >= 3);
    }
}
