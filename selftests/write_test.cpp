// SPDX-License-Identifier: GPL-2.0-only
// Writing records: which writes fail with which errno, and what is recorded where.
#include "catch.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "on_cpu.hpp"
#include "registered.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <optional>
#include <string>
#include <sys/uio.h>
#include <thread>
#include <utility>

using namespace selftest;

namespace {

/// A payload that an ftrace sub-buffer holds. A sub-buffer is a page, with its header and those of
/// the records.
const std::size_t fits = page_size - 96;

/// Writes the bytes with one writev() in parts of these sizes.
Outcome write_in_parts(DataFile& file, Bytes bytes, const std::vector<std::size_t>& sizes) {
    std::vector<iovec> parts;
    std::size_t start = 0;
    for (std::size_t size : sizes) {
        parts.push_back({bytes.data() + start, size});
        start += size;
    }
    if (start != bytes.size())
        throw std::logic_error("the sizes of the parts do not add up to the size of the record");
    return Outcome::of(writev(file.descriptor(), parts.data(), static_cast<int>(parts.size())));
}

/// Compares payloads. The ring buffer pads a recorded one to a multiple of four bytes.
bool is_payload(const Bytes& recorded, const Bytes& written) {
    return recorded.size() - written.size() < 4 &&
           std::equal(written.begin(), written.end(), recorded.begin());
}

} // namespace

TEST_CASE("A write with a short or unreadable index fails with EFAULT") {
    Recorded recorded("");
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);
    *memory.at<std::uint32_t>(page_size - 4) = recorded.index;

    for (std::size_t size : {0, 1, 2, 3}) {
        CAPTURE(size);
        CHECK(recorded.file.write(memory.at(page_size - 4), size) == fails(EFAULT));
    }
    CHECK(recorded.file.write(nullptr, 4) == fails(EFAULT));
    CHECK(recorded.file.write(memory.at(page_size), 4) == fails(EFAULT));
    CHECK(recorded.file.write(memory.at(page_size - 2), 4) == fails(EFAULT));
    CHECK(recorded.instance.records().empty());
    CHECK(recorded.file.write(memory.at(page_size - 4), 4) == succeeds(4));
}

TEST_CASE("Writing a payload that is partly unreadable fails with EFAULT") {
    Recorded recorded(" u32 a");
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);
    for (std::size_t readable : {4, 5, 8, 9, 100}) {
        CAPTURE(readable);
        *memory.at<std::uint32_t>(page_size - readable) = recorded.index;
        CHECK(recorded.file.write(memory.at(page_size - readable), readable + 4) == fails(EFAULT));
        CHECK(recorded.file.write(memory.at(page_size - readable), 4000) == fails(EFAULT));
    }
    CHECK(recorded.instance.records().empty());
}

TEST_CASE("The index is checked first: EINVAL if it is negative, ENOENT if it is unknown") {
    Recorded recorded(" u32 a");
    DataFile other;
    const Payload payload = Payload().add(1u);
    const auto negative = [](int index) { return static_cast<std::uint32_t>(index); };

    CHECK(recorded.file.record(negative(-1), payload) == fails(EINVAL));
    CHECK(recorded.file.record(negative(INT_MIN), payload) == fails(EINVAL));
    CHECK(recorded.file.record(recorded.index + 1, payload) == fails(ENOENT));
    CHECK(recorded.file.record(INT_MAX, payload) == fails(ENOENT));
    CHECK(other.record(recorded.index, payload) == fails(ENOENT));
    CHECK(recorded.file.record(recorded.index + 1) == fails(ENOENT));
    REQUIRE(recorded.instance.disable(recorded.event) == succeeds());
    CHECK(recorded.file.record(negative(-1), payload) == fails(EINVAL));
    CHECK(recorded.file.record(recorded.index + 1, payload) == fails(ENOENT));
    CHECK(recorded.instance.records().empty());
}

TEST_CASE("Writing to an event that is not enabled fails with EBADF") {
    Word word{0};
    DataFile file;
    const std::uint32_t index = file.must_register(&word, 0, unique_name("disabled") + " u32 a");
    CHECK(file.record(index, Payload().add(1u)) == fails(EBADF));
    CHECK(file.record(index, Payload().add(1u).add(2u)) == fails(EBADF));
}

TEST_CASE("Writing a payload shorter than the fixed fields fails with EINVAL") {
    Recorded recorded(" u32 a; __rel_loc char[] b; char[5] c");
    const Payload whole = Payload().add(1u).add(0u).add_characters("12345");
    const Bytes& bytes = whole.bytes();
    for (std::size_t size = 0; size < bytes.size(); size++) {
        CAPTURE(size);
        const Bytes shorter(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK(recorded.record(Payload().add_bytes(shorter)) == fails(EINVAL));
    }
    CHECK(recorded.instance.records().empty());
    CHECK(recorded.record(whole) == succeeds(4 + 13));
    CHECK(recorded.instance.records().size() == 1);
}

TEST_CASE("The size of a payload is checked before the event's state, its contents afterwards") {
    Recorded recorded(" u32 a; __rel_loc char[] b");
    REQUIRE(recorded.instance.disable(recorded.event) == succeeds());
    const Payload bad = Payload().add(1u).add(location(0xffff, 0xffff));
    CHECK(recorded.record(bad) == fails(EBADF));
    CHECK(recorded.record(Payload().add(1u)) == fails(EINVAL));
    std::uint32_t index = recorded.index;
    iovec unreadable[] = {{&index, 4}, {nullptr, 8}};
    CHECK(Outcome::of(writev(recorded.file.descriptor(), unreadable, 2)) == fails(EBADF));
}

TEST_CASE("A location out of bounds, or of char data that does not end in NUL, causes EFAULT") {
    struct Case {
        const char* fields;
        std::uint32_t offset, size;
        bool good;
    };
    // The payload: the location, a u32 whose last byte is not 0, then "abc\0" and "wxyz".
    const Case cases[] = {
        // Offsets from the end of the location: u32 0, "abc" 4, "wxyz" 8, end 12.
        {" __rel_loc char[] f; u32 x", 4, 4, true},
        {" __rel_loc char[] f; u32 x", 5, 3, true},
        {" __rel_loc char[] f; u32 x", 7, 1, true},
        {" __rel_loc char[] f; u32 x", 0, 8, true},
        {" __rel_loc char[] f; u32 x", 4, 3, false},
        {" __rel_loc char[] f; u32 x", 4, 5, false},
        {" __rel_loc char[] f; u32 x", 4, 8, false},
        {" __rel_loc char[] f; u32 x", 8, 5, false},
        {" __rel_loc char[] f; u32 x", 12, 1, false},
        {" __rel_loc char[] f; u32 x", 0xffff, 1, false},
        {" __rel_loc char[] f; u32 x", 4, 0xffff, false},
        {" __rel_loc char[] f; u32 x", 0xffff, 0xffff, false},
        {" __rel_loc unsigned char[] f; u32 x", 4, 4, true},
        {" __rel_loc unsigned char[] f; u32 x", 4, 3, false},
        {" __rel_loc wchar_t[] f; u32 x", 4, 4, true},
        {" __rel_loc wchar_t[] f; u32 x", 4, 3, false},
        // With size 0, the byte before the offset is checked.
        {" __rel_loc char[] f; u32 x", 0, 0, true},
        {" __rel_loc char[] f; u32 x", 4, 0, false},
        {" __rel_loc char[] f; u32 x", 8, 0, true},
        {" __rel_loc char[] f; u32 x", 12, 0, false},
        {" __rel_loc char[] f; u32 x", 13, 0, false},
        // The last byte is not checked if the type does not contain "char".
        {" __rel_loc u8[] f; u32 x", 4, 3, true},
        {" __rel_loc u8[] f; u32 x", 0, 12, true},
        {" __rel_loc u8[] f; u32 x", 12, 0, true},
        {" __rel_loc u8[] f; u32 x", 0, 13, false},
        {" __rel_loc u8[] f; u32 x", 12, 1, false},
        {" __rel_loc u8[] f; u32 x", 13, 0, false},
        {" __rel_loc nonsense[] f; u32 x", 0, 12, true},
        // Offsets from the start of the record: u32 12, "abc" 16, "wxyz" 20, end 24.
        {" __data_loc char[] f; u32 x", 16, 4, true},
        {" __data_loc char[] f; u32 x", 16, 3, false},
        {" __data_loc char[] f; u32 x", 20, 4, false},
        {" __data_loc char[] f; u32 x", 20, 5, false},
        {" __data_loc char[] f; u32 x", 20, 0, true},
        {" __data_loc char[] f; u32 x", 24, 0, false},
        {" __data_loc char[] f; u32 x", 25, 0, false},
        {" __data_loc char[] f; u32 x", 0xffff, 0xffff, false},
        {" __data_loc u8[] f; u32 x", 16, 8, true},
        {" __data_loc u8[] f; u32 x", 24, 0, true},
        {" __data_loc u8[] f; u32 x", 16, 9, false},
        {" __data_loc u8[] f; u32 x", 24, 1, false},
    };
    std::optional<Recorded> recorded;
    std::string fields;
    for (const Case& test : cases) {
        CAPTURE(test.fields, test.offset, test.size);
        if (std::exchange(fields, test.fields) != test.fields)
            recorded.emplace(test.fields);
        const Payload payload = Payload()
                                    .add(location(test.offset, test.size))
                                    .add(0x01020304u)
                                    .add_string("abc")
                                    .add_characters("wxyz");
        CHECK(recorded->record(payload) == (test.good ? succeeds(20) : fails(EFAULT)));
        CHECK(recorded->instance.records().size() == (test.good ? 1 : 0));
    }
}

TEST_CASE("Every location of a payload is checked") {
    Recorded recorded(" __rel_loc char[] a; __rel_loc char[] b; __data_loc u8[] c");
    const auto payload = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        return Payload().add(a).add(b).add(c).add_string("abc");
    };
    const std::uint32_t a = location(8, 4), b = location(4, 4), c = location(20, 4);
    CHECK(recorded.record(payload(a, b, c)) == succeeds(20));
    CHECK(recorded.record(payload(a + 1, b, c)) == fails(EFAULT));
    CHECK(recorded.record(payload(a, b + 1, c)) == fails(EFAULT));
    CHECK(recorded.record(payload(a, b, c + 1)) == fails(EFAULT));
    CHECK(recorded.instance.records().size() == 1);
}

TEST_CASE("libtraceevent decodes every field as it was written") {
    Recorded recorded(" s64 a; u8 b; char[5] c; __rel_loc char[] d; u16 e; __data_loc char[] f;"
                      " unsigned int g; s8 h; __rel_loc u8[] i");
    const Payload payload = Payload()
                                .add<std::int64_t>(-5000000000)  // at 0
                                .add<std::uint8_t>(200)          // 8
                                .add_characters({"four\0", 5})   // 9
                                .add(location(15, 6))            // 14, ends at 18
                                .add<std::uint16_t>(65535)       // 18
                                .add(location(47, 6))            // 20
                                .add(4000000000u)                // 24
                                .add<std::int8_t>(-1)            // 28
                                .add(location(12, 3))            // 29, ends at 33
                                .add_string("hello")             // 33
                                .add_string("world")             // 39
                                .add_characters("\x01\x02\x03"); // 45
    REQUIRE(recorded.record(payload) == succeeds(static_cast<long>(payload.size()) + 4));
    const auto records = recorded.instance.records();
    REQUIRE(records.size() == 1);
    const Record& record = records[0];
    CHECK(record.event() == recorded.event.name());
    CHECK(record.pid() == gettid());
    CHECK(record.number("a") == -5000000000);
    CHECK(record.number("b") == 200);
    CHECK(record.text("c") == "four");
    CHECK(record.text("d") == "hello");
    CHECK(record.number("e") == 65535);
    CHECK(record.text("f") == "world");
    CHECK(record.number("g") == 4000000000);
    CHECK(static_cast<std::int8_t>(record.number("h")) == -1);
    CHECK(record.bytes("i") == Payload().add_characters("\x01\x02\x03").bytes());
    CHECK(is_payload(record.payload(), payload.bytes()));
}

TEST_CASE("Writing to an event without fields creates a record without payload") {
    Recorded recorded("");
    CHECK(recorded.record() == succeeds(4));
    CHECK(recorded.instance.records().size() == 1);
}

TEST_CASE("A payload longer than its fields is recorded whole") {
    for (std::size_t excess : {1, 2, 3, 4, 5, 100, 1000, 3000}) {
        CAPTURE(excess);
        Recorded recorded(" u32 a");
        const Payload payload = Payload().add(7u).add_characters(std::string(excess, 'm'));
        CHECK(recorded.record(payload) == succeeds(static_cast<long>(payload.size()) + 4));
        const auto records = recorded.instance.records();
        REQUIRE(records.size() == 1);
        CHECK(records[0].number("a") == 7);
        CHECK(is_payload(records[0].payload(), payload.bytes()));
    }
}

TEST_CASE("A NUL follows the payload unless its last byte or that of its last char array is NUL") {
    struct Case {
        const char* fields;
        Payload payload;
        bool nul;
    };
    constexpr std::uint32_t open = 0x01010101, closed = 0x00010101;
    // A dot stands for a NUL.
    const auto text = [](std::string characters) {
        std::ranges::replace(characters, '.', '\0');
        return Payload().add_characters(characters);
    };
    const Case cases[] = {
        {" char[8] a", text("abcdefgh"), true},
        {" char[8] a", text("abcdefg."), false},
        {" char[8] a", text("abc.efgh"), true},
        {" char[4] a; u32 b", text("abc.").add(open), false},
        {" char[4] a; u32 b", text("abcd").add(open), true},
        {" char[4] a; u32 b", text("abcd").add(closed), false},
        {" char[4] a; unsigned char[4] b", text("abc.efgh"), true},
        {" char[4] a; unsigned char[4] b", text("abcdefg."), false},
        // Bytes after the fields.
        {" char[4] a", text("abcdefgh"), true},
        {" char[4] a", text("abcdefg."), false},
        // Empty text: in the payload, at its end, in the common fields.
        {" __rel_loc char[] a; u32 b", Payload().add(location(0, 0)).add(open), true},
        {" __rel_loc char[] a; u32 b", Payload().add(location(0, 0)).add(closed), false},
        {" __rel_loc char[] a", Payload().add(location(0, 0)), true},
        {" __data_loc char[] a; u32 b", Payload().add(location(0, 0)).add(open), true},
        {" __data_loc char[] a; u32 b", Payload().add(location(0, 0)).add(closed), false},
        // No text.
        {" u32 a", Payload().add(open), false},
        {" __rel_loc u8[] a; u32 b", Payload().add(location(0, 0)).add(open), false},
    };
    for (const Case& test : cases) {
        CAPTURE(test.fields, test.payload.bytes());
        Recorded recorded(test.fields);
        const auto size = test.payload.size();
        REQUIRE(recorded.record(test.payload) == succeeds(static_cast<long>(size) + 4));
        const auto records = recorded.instance.records();
        REQUIRE(records.size() == 1);
        Bytes expected = test.payload.bytes();
        // The ring buffer's padding is not initialized.
        Bytes got = records[0].payload();
        CHECK(got.size() == (test.nul ? size + 4 : size));
        if (test.nul)
            expected.push_back(std::byte{0});
        got.resize(std::min(got.size(), expected.size()));
        CHECK(got == expected);
    }
}

TEST_CASE("Zeros follow a payload whose last structures are smaller than what probes read") {
    const struct {
        const char* fields;
        std::size_t size, recorded;
    } cases[] = {
        {" struct s a 3", 3, 8},          {" struct s a 5", 5, 8},
        {" u32 a; struct s b 7", 11, 12}, {" struct s a 3; u8 b", 4, 8},
        {" struct s a 6; u32 b", 10, 10}, {" struct s a 5; struct t b 4", 9, 9},
        {" struct s a 3", 6, 8},          {" struct s a 3", 8, 8},
        {" struct s a 4", 4, 4},          {" struct s a 9", 9, 9},
        {" struct s a 1", 1, 1},          {" struct s a 2", 2, 2},
    };
    for (const auto& [fields, size, recorded_size] : cases) {
        CAPTURE(fields, size);
        Recorded recorded(fields);
        const Bytes written(size, std::byte{'x'});
        REQUIRE(recorded.record(Payload().add_bytes(written)) ==
                succeeds(static_cast<long>(size) + 4));
        const auto records = recorded.instance.records();
        REQUIRE(records.size() == 1);
        Bytes got = records[0].payload();
        CHECK(got.size() == (recorded_size + 3) / 4 * 4);
        got.resize(recorded_size);
        Bytes expected = written;
        expected.resize(recorded_size);
        CHECK(got == expected);
    }
}

TEST_CASE("writev writes one record, however it is divided into parts") {
    Recorded recorded(" u32 a; __rel_loc char[] b");
    const Payload payload =
        Payload().add(recorded.index).add(0x01020304u).add(location(0, 6)).add_string("parts");
    const std::vector<std::size_t> splits[] = {
        {18},    {4, 14},    {4, 4, 4, 6},     {1, 17}, {3, 15},
        {5, 13}, {2, 2, 14}, {0, 4, 0, 14, 0}, {17, 1}, std::vector<std::size_t>(18, 1),
    };
    for (const auto& sizes : splits) {
        CAPTURE(sizes);
        CHECK(write_in_parts(recorded.file, payload.bytes(), sizes) == succeeds(18));
        const auto records = recorded.instance.records();
        REQUIRE(records.size() == 1);
        CHECK(records[0].number("a") == 0x01020304);
        CHECK(records[0].text("b") == "parts");
    }
}

TEST_CASE("writev takes up to 1024 parts, all of which may be empty, and fails as write does") {
    Recorded recorded(" u32 a");
    Bytes bytes =
        Payload().add(recorded.index).add(9u).add_characters(std::string(1016, 'x')).bytes();
    CHECK(write_in_parts(recorded.file, bytes, std::vector<std::size_t>(1024, 1)) ==
          succeeds(1024));
    CHECK(recorded.instance.records().size() == 1);

    CHECK(write_in_parts(recorded.file, Payload().add('a').bytes(), {0, 1}) == fails(EFAULT));
    CHECK(write_in_parts(recorded.file, Payload().add(recorded.index).bytes(), {2, 2}) ==
          fails(EINVAL));
    CHECK(write_in_parts(recorded.file, Payload().add(recorded.index + 1).bytes(), {2, 2}) ==
          fails(ENOENT));
    std::uint32_t index = recorded.index;
    iovec parts[] = {{&index, 4}, {nullptr, 4}};
    CHECK(Outcome::of(writev(recorded.file.descriptor(), parts, 2)) == fails(EFAULT));
    bytes.push_back(std::byte{0});
    CHECK(write_in_parts(recorded.file, bytes, std::vector<std::size_t>(1025, 1)) == fails(EINVAL));
    for (const std::size_t count : {0, 1, 2, 1024}) {
        CAPTURE(count);
        CHECK(write_in_parts(recorded.file, {}, std::vector<std::size_t>(count, 0)) == succeeds(0));
    }
    CHECK(recorded.instance.records().empty());
}

TEST_CASE("Every instance that has the event enabled gets the record") {
    Recorded recorded(" u32 a; __rel_loc char[] b");
    Instance second, third, without;
    REQUIRE(second.enable(recorded.event) == succeeds());
    REQUIRE(third.enable(recorded.event) == succeeds());
    const Payload payload = Payload().add(42u).add(location(0, 5)).add_string("same");
    CHECK(recorded.record(payload) == succeeds(17));

    for (Instance* instance : {&recorded.instance, &second, &third}) {
        const auto records = instance->records();
        REQUIRE(records.size() == 1);
        CHECK(records[0].number("a") == 42);
        CHECK(records[0].text("b") == "same");
        CHECK(is_payload(records[0].payload(), payload.bytes()));
    }
    CHECK(without.records().empty());

    REQUIRE(second.disable(recorded.event) == succeeds());
    CHECK(recorded.record(payload) == succeeds(17));
    CHECK(recorded.instance.records().size() == 1);
    CHECK(second.records().empty());
    CHECK(third.records().size() == 1);
    REQUIRE(third.disable(recorded.event) == succeeds());
}

TEST_CASE("The top-level instance gets the record in addition to another instance") {
    Recorded recorded(" u32 a");
    Enabled enabled{recorded.event};
    REQUIRE(recorded.record(Payload().add(123456u)) == succeeds(8));
    CHECK(recorded.instance.records().size() == 1);
    CHECK(read_text(tracing_file("trace")).find(recorded.event.name() + ":") != std::string::npos);
}

TEST_CASE("A write succeeds if the only recorder is stopped or filters the record out") {
    Recorded recorded(" u32 a");
    const auto record = [&](std::uint32_t a) { return recorded.record(Payload().add(a)); };
    SECTION("tracing_on is 0") {
        REQUIRE(write_text(recorded.instance.path("tracing_on"), "0") == succeeds(1));
        CHECK(record(1) == succeeds(8));
        REQUIRE(write_text(recorded.instance.path("tracing_on"), "1") == succeeds(1));
    }
    SECTION("the filter does not match") {
        const std::string filter = recorded.instance.path(recorded.event, "filter");
        REQUIRE(write_text(filter, "a == 2") == succeeds(6));
        CHECK(record(1) == succeeds(8));
    }
    CHECK(record(2) == succeeds(8));
    const auto records = recorded.instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 2);
}

TEST_CASE("Records that do not fit a full buffer are counted as lost in user_events_status") {
    constexpr std::size_t records = 1000;
    Recorded recorded(" u32 a");
    REQUIRE(write_text(recorded.instance.path("options/overwrite"), "0") == succeeds(1));
    REQUIRE(write_text(recorded.instance.path("buffer_size_kb"), "8") == succeeds(1));
    const OnCpu on_cpu(0);
    std::size_t failures = 0;
    std::string after_first;
    for (std::size_t i = 0; i < records; i++) {
        failures += recorded.record(Payload().add(1u).add_bytes(Bytes(96))) != succeeds(104);
        if (after_first.empty() && recorded.status() != " # Used by ftrace")
            after_first = recorded.status();
    }
    CHECK(failures == 0);
    CHECK(after_first == " # Used by ftrace; lost 1");

    const std::string line = status_line(recorded.event.name());
    const std::size_t taken = recorded.instance.records().size();
    CHECK(taken > 0);
    REQUIRE(taken < records);
    const std::string lost = " lost " + std::to_string(records - taken);
    CHECK(line == recorded.event.name() + " # Used by ftrace;" + lost);

    // Reading the buffer made room for the next record.
    CHECK(recorded.record(Payload().add(2u)) == succeeds(8));
    CHECK(recorded.instance.records().size() == 1);
    REQUIRE(recorded.instance.disable(recorded.event) == succeeds());
    CHECK(status_line(recorded.event.name()) == recorded.event.name() + " #" + lost);
}

TEST_CASE("With a filter, the instance's stats count what a full buffer drops, and lost does not") {
    constexpr int records = 1000;
    Recorded recorded(" u32 a");
    REQUIRE(write_text(recorded.instance.path("options/overwrite"), "0") == succeeds(1));
    REQUIRE(write_text(recorded.instance.path("buffer_size_kb"), "8") == succeeds(1));
    REQUIRE(recorded.instance.set_filter(recorded.event, "a == 1") == succeeds());
    const OnCpu on_cpu(0);
    for (int i = 0; i < records; i++)
        REQUIRE(recorded.record(Payload().add(1u).add_bytes(Bytes(96))) == succeeds(104));
    const std::string stats = read_text(recorded.instance.path("per_cpu/cpu0/stats"));
    const auto taken = recorded.instance.records().size();
    REQUIRE(taken < records);
    CHECK_THAT(stats, Catch::Contains("dropped events: " + std::to_string(records - taken) + "\n"));
    CHECK(recorded.status() == " # Used by ftrace");
}

TEST_CASE("Records suppressed by tracing_on or a filter, or overwritten, do not count as lost") {
    Recorded recorded(" u32 a");
    REQUIRE(write_text(recorded.instance.path("options/overwrite"), "0") == succeeds(1));
    REQUIRE(write_text(recorded.instance.path("buffer_size_kb"), "8") == succeeds(1));
    SECTION("tracing_on is 0") {
        REQUIRE(write_text(recorded.instance.path("tracing_on"), "0") == succeeds(1));
    }
    SECTION("the filter does not match") {
        const std::string filter = recorded.instance.path(recorded.event, "filter");
        REQUIRE(write_text(filter, "a == 2") == succeeds(6));
    }
    SECTION("the buffer overwrites old records") {
        REQUIRE(write_text(recorded.instance.path("options/overwrite"), "1") == succeeds(1));
    }
    std::size_t failures = 0;
    for (std::size_t i = 0; i < 1000; i++)
        failures += recorded.record(Payload().add(1u).add_bytes(Bytes(96))) != succeeds(104);
    CHECK(failures == 0);
    CHECK(status_line(recorded.event.name()) == recorded.event.name() + " # Used by ftrace");
}

TEST_CASE("Writing a payload that is too large for ftrace, the only recorder, fails with E2BIG") {
    Recorded recorded(" u32 a");
    const auto record = [&](std::size_t size) {
        return recorded.record(Payload().add(1u).add_characters(std::string(size - 4, 'x')));
    };
    CHECK(record(fits) == succeeds(static_cast<long>(fits) + 4));
    CHECK(recorded.instance.records().size() == 1);
    for (std::size_t size : {page_size, page_size + 904, 2 * page_size, 65536ul, 1ul << 20}) {
        CAPTURE(size);
        CHECK(record(size) == fails(E2BIG));
        CHECK(recorded.instance.records().empty());
    }

    // Every size in between is either recorded or E2BIG.
    std::size_t misjudged = 0, largest = fits;
    for (std::size_t size = fits + 1; size < page_size; size++) {
        const Outcome outcome = record(size);
        const std::size_t recorded_now = recorded.instance.records().size();
        misjudged +=
            outcome != (recorded_now ? succeeds(static_cast<long>(size) + 4) : fails(E2BIG));
        // No size fits after a smaller one that did not.
        misjudged += outcome.ok() && size != ++largest;
    }
    CHECK(misjudged == 0);
    CHECK(largest == page_size - 32);
    CHECK(recorded.record(Payload().add(2u)) == succeeds(8));
    CHECK(recorded.instance.records().size() == 1);
}

TEST_CASE("A payload that no recorder can hold with the zeros after it fails with E2BIG") {
    const std::size_t largest = page_size - 32;
    const auto [fields, last_byte] = GENERATE(
        table<std::string, char>({{" char[4] a", 'x'}, {" char[4] a", '\0'}, {" u8 a", 'x'}}));
    CAPTURE(fields, last_byte);
    const bool gets_zeros = fields != " u8 a" && last_byte != '\0';
    Recorded recorded(fields);
    const auto record = [&, last = last_byte](std::size_t size) {
        return recorded.record(
            Payload().add_characters(std::string(size - 1, 'x') + std::string(1, last)));
    };
    CHECK(record(largest) ==
          (gets_zeros ? fails(E2BIG) : succeeds(static_cast<long>(largest) + 4)));
    CHECK(recorded.instance.records().size() == (gets_zeros ? 0 : 1));
    CHECK(record(largest - 1) == succeeds(static_cast<long>(largest) + 3));
    CHECK(recorded.instance.records().size() == 1);
    CHECK(recorded.status() == " # Used by ftrace");
}

TEST_CASE("With a histogram of time stamps, a payload that does not fit fails with E2BIG") {
    Recorded recorded(" u32 a");
    const std::string trigger = recorded.instance.path(recorded.event, "trigger");
    const char* const histogram = "hist:keys=a:ts0=common_timestamp";
    REQUIRE(write_text(trigger, histogram).ok());
    const bool filtered = GENERATE(false, true);
    CAPTURE(filtered);
    if (filtered)
        REQUIRE(recorded.instance.set_filter(recorded.event, "a == 1") == succeeds());
    std::size_t misjudged = 0;
    for (std::size_t size = fits - 16; size < page_size; size++) {
        const Outcome outcome =
            recorded.record(Payload().add(1u).add_characters(std::string(size - 4, 'x')));
        misjudged += outcome != (recorded.instance.records().empty()
                                     ? fails(E2BIG)
                                     : succeeds(static_cast<long>(size) + 4));
    }
    CHECK(misjudged == 0);
    CHECK(recorded.status() == " # Used by ftrace");
    write_text(trigger, std::string("!") + histogram, O_APPEND);
}

TEST_CASE("A payload that no recorder can hold fails with E2BIG before it is read") {
    Recorded recorded(" __rel_loc u8[] a");
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);
    std::byte* const data = memory.at(page_size - 4);
    *memory.at<std::uint32_t>(page_size - 4) = recorded.index;
    CHECK(recorded.file.write(data, 4 + fits) == fails(EFAULT));
    for (std::size_t size : {page_size, 2 * page_size, 65536ul, 1ul << 20, (1ul << 20) + 1}) {
        CAPTURE(size);
        CHECK(recorded.file.write(data, 4 + size) == fails(E2BIG));
        iovec parts[] = {{data, 4}, {memory.at(page_size), size}};
        CHECK(Outcome::of(writev(recorded.file.descriptor(), parts, 2)) == fails(E2BIG));
    }
    // The location is bad.
    for (std::size_t size : {fits, page_size + 904}) {
        const Payload payload =
            Payload().add(location(0xffff, 0xffff)).add_characters(std::string(size - 4, 'x'));
        CHECK(recorded.record(payload) == fails(size == fits ? EFAULT : E2BIG));
    }
    // The checks of the index and of the state precede it.
    *memory.at<std::uint32_t>(page_size - 4) = recorded.index + 1;
    CHECK(recorded.file.write(data, 4 + page_size) == fails(ENOENT));
    *memory.at<std::uint32_t>(page_size - 4) = recorded.index;
    REQUIRE(recorded.instance.disable(recorded.event) == succeeds());
    CHECK(recorded.file.write(data, 4 + page_size) == fails(EBADF));
}

TEST_CASE("A payload that is too large fails with E2BIG also where a trigger has a condition") {
    Recorded recorded(" u32 a");
    const std::string trigger = recorded.instance.path(recorded.event, "trigger");
    REQUIRE(write_text(trigger, "traceoff if a == 5").ok());
    const auto record = [&](std::uint32_t a, std::size_t size) {
        return recorded.record(Payload().add(a).add_characters(std::string(size - 4, 'x')));
    };
    for (std::size_t size : {page_size, 65536ul, 1ul << 20}) {
        CAPTURE(size);
        CHECK(record(5, size) == fails(E2BIG));
    }
    CHECK(record(1, fits) == succeeds(static_cast<long>(fits) + 4));
    CHECK(recorded.instance.records().size() == 1);
    CHECK(read_text(recorded.instance.path("tracing_on")) == "1\n");
    REQUIRE(write_text(trigger, "!traceoff if a == 5", O_APPEND).ok());
}

TEST_CASE("All records of several threads arrive, in each thread's order") {
    constexpr unsigned threads = 4, records_each = 500;
    Recorded recorded(" u32 thread; u32 number; __rel_loc char[] text");
    const bool shared_file = GENERATE(true, false);
    CAPTURE(shared_file);

    std::atomic<unsigned> failures{0};
    const auto write_records = [&](std::uint32_t thread) {
        Word word{0};
        DataFile own;
        const std::uint32_t index = own.must_register(
            &word, 0, recorded.event.name() + " u32 thread; u32 number; __rel_loc char[] text");
        DataFile& file = shared_file ? recorded.file : own;
        for (std::uint32_t number = 0; number < records_each; number++) {
            const std::string text(number % 50, static_cast<char>('a' + thread));
            const Outcome outcome =
                file.record(shared_file ? recorded.index : index,
                            Payload()
                                .add(thread)
                                .add(number)
                                .add(location(0, static_cast<std::uint32_t>(text.size()) + 1))
                                .add_string(text));
            failures += outcome != succeeds(static_cast<long>(16 + text.size() + 1));
        }
    };
    {
        std::vector<std::jthread> running;
        for (std::uint32_t thread = 0; thread < threads; thread++)
            running.emplace_back(write_records, thread);
    }
    CHECK(failures == 0);

    // Records are sorted by time: the numbers of each thread are consecutive.
    std::map<long long, long long> next;
    unsigned wrong = 0;
    for (const Record& record : recorded.instance.records()) {
        const long long thread = record.number("thread"), number = record.number("number");
        wrong += number != next[thread]++;
        wrong += record.text("text") != std::string(static_cast<std::size_t>(number % 50),
                                                    static_cast<char>('a' + thread));
    }
    CHECK(wrong == 0);
    REQUIRE(next.size() == threads);
    for (const auto& [thread, count] : next)
        CHECK(count == records_each);
}

TEST_CASE(
    "Writes succeed while an instance enables and disables the event; its records are in order") {
    Recorded recorded(" u32 number");
    Instance switched;
    std::atomic<bool> stop{false};
    std::atomic<unsigned> failures{0}, written{0};
    std::jthread writer([&] {
        for (std::uint32_t number = 0; !stop; number++) {
            failures += recorded.record(Payload().add(number)) != succeeds(8);
            written++;
        }
    });
    unsigned switches = 0;
    const bool enough = eventually([&] {
        switches += switched.enable(recorded.event).ok() && switched.disable(recorded.event).ok();
        return switches >= 50 && written >= 500;
    });
    stop = true;
    writer.join();
    CHECK(enough);
    CHECK(failures == 0);

    std::size_t wrong = 0;
    long long last = -1;
    for (const Record& record : switched.records()) {
        wrong += record.number("number") <= last;
        last = record.number("number");
    }
    CHECK(wrong == 0);
}
