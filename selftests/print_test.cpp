// SPDX-License-Identifier: GPL-2.0-only
// How records are printed in the `trace` file.
#include "catch.hpp"
#include "deadline.hpp"
#include "descriptor.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "rule.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <optional>

using namespace selftest;

namespace {

/// Records one payload of an event with these fields. Returns the text that follows "NAME: " in the
/// trace file.
std::string printed(Instance& instance, const std::string& fields, const Payload& payload) {
    Word word{0};
    DataFile file;
    const Event event(unique_name("printed"));
    const std::uint32_t index = file.must_register(&word, 0, event.name() + fields);
    expect(instance.enable(event), "enable " + event.name());
    expect(file.record(index, payload), "record " + event.name());
    const auto lines = instance.trace(event);
    expect(instance.disable(event), "disable " + event.name());
    expect(write_text(instance.path("trace"), "", O_TRUNC), "empty the trace");
    if (lines.size() != 1)
        return std::to_string(lines.size()) + " lines";
    const std::string start = event.name() + ":";
    const std::string rest = lines[0].substr(start.size());
    return rest.starts_with(" ") ? rest.substr(1) : rest;
}

std::string printed(const std::string& fields, const Payload& payload) {
    // Creating an instance is slow.
    static Instance instance;
    return printed(instance, fields, payload);
}

/// The longest line, from the event's name on. A longer one is truncated here, and "..." added.
constexpr std::size_t line_max = 3072;

/// What splice() reads from an instance's trace_pipe in ten attempts.
std::string spliced(const Instance& instance) {
    const std::string path = instance.path("trace_pipe");
    const Descriptor from(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    int ends[2];
    if (from.number() < 0 || pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        throw_errno("open " + path);
    const Descriptor out(ends[0]), into(ends[1]);
    std::string text;
    char part[4096];
    for (int round = 0; round < 10; round++) {
        splice(from.number(), nullptr, into.number(), nullptr, 65536, SPLICE_F_NONBLOCK);
        for (ssize_t size; (size = read(out.number(), part, sizeof(part))) > 0;)
            text.append(part, static_cast<std::size_t>(size));
    }
    return text;
}

/// Fields whose locations all point to the same text, and a payload for them.
std::pair<std::string, Payload> fields_sharing_text(const std::string& text) {
    constexpr std::uint32_t count = 20;
    std::string fields;
    Payload payload;
    for (std::uint32_t i = 0; i < count; i++) {
        fields += (i == 0 ? " " : ";") + ("__rel_loc char[] a" + std::to_string(i));
        payload.add(location(4 * (count - 1 - i), static_cast<std::uint32_t>(text.size() + 1)));
    }
    return {fields, payload.add_string(text)};
}

} // namespace

TEST_CASE("A record is printed as field=value pairs") {
    CHECK(printed(" u32 count; __rel_loc char[] msg",
                  Payload().add(5u).add(location(0, 6)).add_string("hello")) ==
          "count=5 msg=hello");
    CHECK(printed(" u32 count; __data_loc char[] msg",
                  Payload().add(5u).add(location(16, 6)).add_string("hello")) ==
          "count=5 msg=hello");
    CHECK(printed("", {}) == "");
}

TEST_CASE("Numbers are printed with the size and sign of their types") {
    struct Case {
        const char* type;
        Payload payload;
        const char* text;
    };
    const Case cases[] = {
        {"s64", Payload().add(INT64_MIN), "f=-9223372036854775808"},
        {"u64", Payload().add(UINT64_MAX), "f=18446744073709551615"},
        {"s32", Payload().add(INT32_MIN), "f=-2147483648"},
        {"u32", Payload().add(UINT32_MAX), "f=4294967295"},
        {"int", Payload().add(-1), "f=-1"},
        {"unsigned int", Payload().add(-1), "f=4294967295"},
        {"s16", Payload().add(INT16_MIN), "f=-32768"},
        {"u16", Payload().add(UINT16_MAX), "f=65535"},
        {"short", Payload().add<short>(-2), "f=-2"},
        {"unsigned short", Payload().add<short>(-2), "f=65534"},
        {"s8", Payload().add<std::int8_t>(-128), "f=-128"},
        {"u8", Payload().add<std::uint8_t>(255), "f=255"},
        {"char", Payload().add('A'), "f=65"},
        {"unsigned char", Payload().add<unsigned char>(200), "f=200"},
    };
    for (const Case& test : cases) {
        CAPTURE(test.type);
        CHECK(printed(std::string(" ") + test.type + " f", test.payload) == test.text);
    }
}

TEST_CASE("Numbers at unaligned offsets are printed correctly") {
    CHECK(printed(" u8 a; s64 b; u8 c; u32 d; u16 e", Payload()
                                                          .add<std::uint8_t>(1)
                                                          .add<std::int64_t>(-2)
                                                          .add<std::uint8_t>(3)
                                                          .add(4u)
                                                          .add<std::uint16_t>(5)) ==
          "a=1 b=-2 c=3 d=4 e=5");
}

TEST_CASE("char arrays are printed up to a NUL or their end") {
    CHECK(printed(" char[8] a; u8 b",
                  Payload().add_characters({"abc\0def\0", 8}).add<std::uint8_t>(7)) == "a=abc b=7");
    CHECK(printed(" char[4] a; char[4] b", Payload().add_characters("abcdefgh")) ==
          "a=abcd b=efgh");
    CHECK(printed(" char[1] a; u8 b", Payload().add('x').add<std::uint8_t>(7)) == "a=x b=7");
    CHECK(printed(" char[4] a", Payload().add(0u)) == "a=");
}

TEST_CASE("unsigned char arrays, structs and integer arrays are printed as hexadecimal") {
    const auto all_bytes = [](int count) {
        std::string bytes;
        for (int i = 0; i < count; i++)
            bytes.push_back(static_cast<char>(i));
        return bytes;
    };
    const auto hexadecimal = [](const std::string& bytes) {
        std::string text;
        char digits[3];
        for (char byte : bytes) {
            snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
            text += digits;
        }
        return text;
    };
    for (int count : {1, 3, 15, 16, 17, 64, 300, 1000}) {
        CAPTURE(count);
        const auto size = static_cast<std::uint32_t>(count);
        const std::string length = std::to_string(count), bytes = all_bytes(count);
        const std::string expected = "a=" + hexadecimal(bytes) + " b=7";
        CHECK(printed(" unsigned char[" + length + "] a; u8 b",
                      Payload().add_characters(bytes).add<std::uint8_t>(7)) == expected);
        CHECK(printed(" struct s a " + length + "; u8 b",
                      Payload().add_characters(bytes).add<std::uint8_t>(7)) == expected);
        CHECK(
            printed(" __rel_loc u8[] a; u8 b",
                    Payload().add(location(1, size)).add<std::uint8_t>(7).add_characters(bytes)) ==
            expected);
        CHECK(
            printed(" __data_loc u16[] a; u8 b",
                    Payload().add(location(13, size)).add<std::uint8_t>(7).add_characters(bytes)) ==
            expected);
    }
    CHECK(printed(" __rel_loc u8[] a", Payload().add(0u)) == "a=");
}

TEST_CASE("Strings are printed from where their locations point") {
    SECTION("to the end of the record") {
        CHECK(printed(" __rel_loc char[] a",
                      Payload().add(location(5, 3)).add_characters("junk!").add_string("ab")) ==
              "a=ab");
        CHECK(printed(" __rel_loc char[] a", Payload().add(location(4, 1)).add(1).add('\0')) ==
              "a=");
    }
    SECTION("in an order that differs from the fields") {
        CHECK(printed(" __rel_loc char[] a; __rel_loc char[] b; __data_loc char[] c",
                      Payload()
                          .add(location(13, 3))
                          .add(location(4, 3))
                          .add(location(23, 2))
                          .add_string("bb")
                          .add_string("c")
                          .add_string("aa")) == "a=aa b=bb c=c");
    }
    SECTION("to a string with a NUL inside") {
        CHECK(printed(" __rel_loc char[] a",
                      Payload().add(location(0, 6)).add_characters({"ab\0cd\0", 6})) == "a=ab");
    }
    SECTION("to a long string") {
        const std::string text(2000, 'x');
        CHECK(printed(" __rel_loc char[] a; u8 b",
                      Payload().add(location(1, 2001)).add<std::uint8_t>(9).add_string(text)) ==
              "a=" + text + " b=9");
    }
    SECTION("to an empty string") {
        CHECK(printed(" __rel_loc char[] a", Payload().add(0u)) == "a=");
    }
}

TEST_CASE("Bytes of a payload after its fields are not printed") {
    CHECK(printed(" u32 a", Payload().add(5u).add(6u).add('x')) == "a=5");
    CHECK(printed("", Payload().add_string("extra")) == "");
}

TEST_CASE("A line longer than 3072 characters is truncated and ends in '...'") {
    Instance instance;
    Word word{0};
    DataFile file;
    const Event event(unique_name("printed"));
    const std::uint32_t index =
        file.must_register(&word, 0, event.name() + " __rel_loc char[] a; u32 b; u8 c");
    REQUIRE(instance.enable(event) == succeeds());
    const std::string before = event.name() + ": a=", after = " b=4000000000 c=9";
    // The truncation removes nothing, parts of numbers, or a part of the text.
    std::vector<std::string> expected;
    for (std::size_t excess : {0, 1, 4, 8, 17, 700}) {
        const std::string text(line_max - before.size() - after.size() + excess, 'x');
        const auto size = static_cast<std::uint32_t>(text.size() + 1);
        REQUIRE(file.record(index, Payload()
                                       .add(location(5, size))
                                       .add(4000000000u)
                                       .add<std::uint8_t>(9)
                                       .add_string(text))
                    .ok());
        std::string line = before;
        line += text;
        line += after;
        if (excess > 0)
            line.replace(line_max, line.size(), "...");
        expected.push_back(std::move(line));
    }
    CHECK(instance.trace(event) == expected);
    REQUIRE(instance.disable(event) == succeeds());
}

TEST_CASE("\"char *text\" is a char named \"*text\", not a pointer") {
    CHECK(printed(" char *text", Payload().add('A')) == "*text=65");
}

// The kernel retries a line that does not fit the page, without end if it never fits.
TEST_CASE("splice() from trace_pipe gets past a record that prints a very long line") {
    const std::pair<std::string, Payload> cases[] = {
        fields_sharing_text(std::string(3899, 'x')),
        {" struct x b 3000; u8 c", Payload().add_characters(std::string(3001, 'x'))},
    };
    for (const auto& [fields, payload] : cases) {
        CAPTURE(fields);
        Instance instance;
        Word words[2] = {};
        DataFile file;
        const Event large(unique_name("large")), small(unique_name("small"));
        const std::uint32_t large_index = file.must_register(&words[0], 0, large.name() + fields);
        const std::uint32_t small_index = file.must_register(&words[1], 0, small.name() + " u32 a");
        REQUIRE(instance.enable(large) == succeeds());
        REQUIRE(instance.enable(small) == succeeds());
        REQUIRE(file.record(large_index, payload).ok());
        REQUIRE(file.record(small_index, Payload().add(5u)).ok());

        const auto lines = instance.trace(large);
        REQUIRE(lines.size() == 1);
        CHECK(lines[0].size() == line_max + 3);
        CHECK(lines[0].ends_with("..."));
        CHECK(instance.trace(small) == std::vector{small.name() + ": a=5"});
        const std::string text = spliced(instance);
        CHECK(text.find(lines[0] + "\n") != std::string::npos);
        CHECK(text.find(small.name() + ": a=5\n") != std::string::npos);
        REQUIRE(instance.disable(large) == succeeds());
        REQUIRE(instance.disable(small) == succeeds());
    }
}

TEST_CASE("Names with '%' are printed literally") {
    Word word{0};
    Instance instance;
    DataFile file;
    const Event event(unique_name("printed") + "%s%n%d");
    const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 100%s");
    REQUIRE(instance.enable(event) == succeeds());
    REQUIRE(file.record(index, Payload().add(5u)) == succeeds(8));
    const auto lines = instance.trace(event);
    REQUIRE(lines.size() == 1);
    CHECK(lines[0] == event.name() + ": 100%s=5");
}

/// An event that was removed after one of its records was written.
struct RemovedEvent {
    explicit RemovedEvent(Instance& instance) {
        Word word{0};
        DataFile file;
        const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
        number = event.id();
        expect(instance.enable(event), "enable");
        expect(file.record(index, Payload().add(location(1000, 6))), "record");
        expect(instance.disable(event), "disable");
    }
    std::string line() const {
        return event.name() + ": a=" + std::to_string(location(1000, 6)) + "\n";
    }

    const Event event{unique_name("removed")};
    int number = 0;
};

// A record holds the type number of its event. The kernel reuses free type numbers.
TEST_CASE("A record of a removed event is still printed, and its type number is not reused") {
    Instance instance;
    const RemovedEvent removed(instance);
    REQUIRE(removed.event.wait_removed());
    const Event newer(unique_name("newer")), synthetic(unique_name("made"), "synthetic");
    const Definition definition("synthetic_events", synthetic.name() + " char text[]",
                                "!" + synthetic.name());
    Word word{0};
    DataFile file;
    file.must_register(&word, 0, newer.name() + " __rel_loc char[] a; u64 b");
    CHECK(newer.id() != removed.number);
    CHECK(synthetic.id() != removed.number);
    const std::string printed = read_text(instance.path("trace"));
    CAPTURE(printed);
    CHECK(printed.find(removed.line()) != std::string::npos);
}

TEST_CASE("Beyond 1024 removed events, new user events take over the oldest type numbers") {
    constexpr unsigned most = 1024, batch = 128;
    Instance instance;
    const RemovedEvent first(instance);
    const std::string enable = instance.path("events/user_events/enable");
    unsigned failed = 0;
    Mapping memory(1);
    for (unsigned removed = 0; removed <= 2 * most; removed += batch) {
        DataFile file;
        for (unsigned i = 0; i < batch; i++)
            failed += !file.register_event(memory.at<Word>() + i, 0, unique_name("removed")).ok();
        REQUIRE(write_text(enable, "1").ok());
        REQUIRE(write_text(enable, "0").ok());
        for (unsigned i = 0; i < batch; i++)
            failed += !file.unregister(memory.at<Word>() + i, 0).ok();
    }
    REQUIRE(failed == 0);
    const RemovedEvent last(instance);
    const std::string printed = read_text(instance.path("trace"));
    // No event of another kind ever gets the number, so the record is never misread.
    CHECK(printed.find("Unknown type") == std::string::npos);
    CHECK(printed.find(first.line()) == std::string::npos);
    CHECK(printed.find(last.line()) != std::string::npos);
    CHECK(last.number < first.number + 2 * static_cast<int>(most));
}

TEST_CASE("An event that takes over a type number prints old records within their bounds") {
    constexpr unsigned most = 1024, batch = 128;
    Instance instance;
    const RemovedEvent removed(instance);
    const std::string enable = instance.path("events/user_events/enable");
    Mapping memory(1);
    std::optional<DataFile> file;
    std::optional<Event> newer;
    for (unsigned created = 0; created <= 2 * most && !newer; created += batch) {
        // Removes the events of the last round.
        file.emplace();
        for (unsigned i = 0; i < batch; i++) {
            const Event event(unique_name("newer"));
            file->must_register(memory.at<Word>() + i, 0, event.name() + " __rel_loc char[] a");
            if (event.id() == removed.number)
                newer = event;
        }
        if (newer)
            break;
        REQUIRE(write_text(enable, "1").ok());
        REQUIRE(write_text(enable, "0").ok());
    }
    REQUIRE(newer);
    // The old record has 1000 there, which was no location.
    const std::string line = newer->name() + ": a=(outside)\n";
    CHECK_THAT(read_text(instance.path("trace")), Catch::Contains(line));

    // Nothing has enabled this event, but records have its number.
    file.reset();
    CHECK(newer->wait_removed());
    const Event synthetic(unique_name("made"), "synthetic");
    const Definition definition("synthetic_events", synthetic.name() + " char text[]",
                                "!" + synthetic.name());
    CHECK(synthetic.id() != removed.number);
    CHECK_THAT(read_text(instance.path("trace")), Catch::Contains(line));
}

TEST_CASE("Records of a removed event outlive probes, synthetic events and user events of others") {
    struct Kind {
        std::string file, text, removal;
    };
    const std::string other = unique_name("other");
    const Kind kinds[] = {
        {"kprobe_events", "p:selftests/" + other + " vfs_read", "-:selftests/" + other},
        {"uprobe_events", "p:selftests/" + other + " /proc/self/exe:0x1000",
         "-:selftests/" + other},
        {"synthetic_events", other + " u32 a", "!" + other},
        {"dynamic_events", "e:selftests/" + other + " sched.sched_switch", "-:selftests/" + other},
        {"dynamic_events", "u:" + other, "-:" + other},
    };
    const Kind& kind = kinds[GENERATE(0, 1, 2, 3, 4)];
    const bool in_rule = GENERATE(false, true);
    CAPTURE(kind.text, in_rule);
    const Event event(unique_name("outlives"));
    Instance instance;
    std::optional<Rule> rule;
    if (in_rule)
        rule.emplace(event.name() + " instance=" + instance.name());
    {
        Word word{0};
        DataFile file;
        const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
        if (!in_rule)
            REQUIRE(event.enable() == succeeds(1));
        REQUIRE(file.record(index, Payload().add(7u)) == succeeds(8));
        REQUIRE((in_rule ? instance.disable(event).ok() : event.disable().ok()));
    }
    REQUIRE(event.wait_removed());
    { const Definition definition(kind.file, kind.text, kind.removal); }
    const std::string printed = read_text(in_rule ? instance.path("trace") : tracing_file("trace"));
    CHECK(printed.find(event.name() + ": a=7\n") != std::string::npos);
}

TEST_CASE(
    "Removing a probe that was enabled in an instance clears the records of user events there") {
    const Event event(unique_name("cleared")), probe(unique_name("probe"), "selftests");
    Instance instance, other;
    Word word{0};
    DataFile file;
    const std::uint32_t index = file.must_register(&word, 0, event.name() + " u32 a");
    REQUIRE((instance.enable(event).ok() && other.enable(event).ok()));
    REQUIRE(file.record(index, Payload().add(7u)) == succeeds(8));
    {
        const Definition definition("kprobe_events", "p:selftests/" + probe.name() + " vfs_read",
                                    "-:selftests/" + probe.name());
        REQUIRE(instance.enable(probe).ok());
        REQUIRE(instance.disable(probe).ok());
    }
    CHECK(instance.trace(event).empty());
    CHECK(other.trace(event).size() == 1);
    REQUIRE((instance.disable(event).ok() && other.disable(event).ok()));
}

TEST_CASE(
    "With the parameter intree_text, a record is printed as Linux's own user_events prints it") {
    const module::Loaded loaded;
    REQUIRE(eventually([] { return module::unload().ok(); }));
    REQUIRE(module::load("intree_text=1") == succeeds());
    {
        Instance instance;
        CHECK(printed(instance,
                      " u8 a; char b; s8 c; s16 d; int e; s64 f; unsigned char[4] g; unsigned "
                      "char[3] h; char[4] i",
                      Payload()
                          .add<std::uint8_t>(4)
                          .add('A')
                          .add<std::int8_t>(-1)
                          .add<std::int16_t>(-1)
                          .add(-2)
                          .add<std::int64_t>(-3)
                          .add_characters("\1\2\3\4\5\6\7")
                          .add_string("tea")) == "a=(4) b='A'(65) c='\xff'(255) d=0xffff (65535) "
                                                 "e=0xfffffffe (-2) f=0xfffffffffffffffd (-3) "
                                                 "g=0x4030201 (67305985) h=<INVALID-SIZE> i=tea");
        CHECK(printed(instance, " __rel_loc u8[] a; __data_loc char[] b; u32 c",
                      Payload()
                          .add(location(8, 3))
                          .add(location(23, 4))
                          .add(0u)
                          .add_characters("\1\x2f\xff")
                          .add_string("tea")) == "a=01,2f,ff b=tea c=0x0 (0)");
    }
    REQUIRE(eventually([] { return module::unload().ok(); }));
    REQUIRE(module::load() == succeeds());
}
