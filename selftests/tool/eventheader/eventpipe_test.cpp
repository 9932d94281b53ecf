// SPDX-License-Identifier: GPL-2.0-only
// What the runtime of .NET writes.
#include "eventpipe/known_events.hpp"
#include "netevent.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

namespace {

using namespace eventpipe_test;
using tool::eventpipe::known_events;

/// Bytes in memory of just their size.
class copy {
public:
    explicit copy(const std::string& from) : data_(from.size()) {
        for (std::size_t i = 0; i < from.size(); i++)
            data_[i] = static_cast<std::byte>(from[i]);
    }
    tool::eventpipe::bytes bytes() const { return data_; }

private:
    std::vector<std::byte> data_;
};

const std::vector<std::string> all;

/// A record as a line, of a process and a tracepoint.
std::string show(known_events& known, const std::string& extension, const std::string& payload,
                 std::uint16_t id = 7, int process = 1, int tracepoint = 1, int version = 1) {
    const copy extension_copy(extension), payload_copy(payload);
    const tool::eventpipe::message message{static_cast<std::uint8_t>(version), id,
                                           extension_copy.bytes(), payload_copy.bytes()};
    const auto* const description = known.find(process, tracepoint, message);
    std::string result;
    append_line(result, to_shown_event("tp", message, description, all));
    return result;
}

std::string show(const std::string& metadata, const std::string& payload) {
    known_events known;
    return show(known, label(1, metadata), payload);
}

const std::string unknown = "(not decoded, because its names are not known: the runtime of .NET "
                            "sends them once in a session: ";

} // namespace

TEST_CASE("each type of .NET is shown") {
    struct row {
        int type;
        std::string payload;
        std::string shown;
    };
    const row rows[] = {
        {truth, number(1, 4), "true"},
        {truth, number(0, 4), "false"},
        {character, number('x', 2), "x"},
        {int8, number(0xff, 1), "-1"},
        {uint8, number(0xff, 1), "255"},
        {int16, number(0x8000, 2), "-32768"},
        {uint16, number(0x8000, 2), "32768"},
        {int32, number(0xffffffff, 4), "-1"},
        {uint32, number(0xffffffff, 4), "4294967295"},
        {int64, number(~std::uint64_t{0}, 8), "-1"},
        {uint64, number(~std::uint64_t{0}, 8), "18446744073709551615"},
        {real32, number(0x3fc00000, 4), "1.5"},
        {real64, number(0x3ff8000000000000, 8), "1.5"},
        {date,
         number(2025, 2) + number(9, 2) + number(2, 2) + number(16, 2) + number(5, 2) +
             number(20, 2) + number(1, 2) + number(7, 2),
         "2025-09-16T05:20:01.007Z"},
        {guid,
         "\x03\x02\x01" + std::string(1, '\0') + "\x05\x04\x07\x06\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
         "00010203-0405-0607-0809-0a0b0c0d0e0f"},
        {text, wide("tea"), "tea"},
        {text, wide(""), ""},
    };
    for (const row& row : rows) {
        INFO(row.type << " " << row.shown);
        CHECK(show(metadata({}, fields(1, field("a", row.type))), row.payload) ==
              "Shop:Request [information id=7]: a=" + row.shown);
        CHECK(show(metadata({}, fields(0, "") + tag(2, fields(1, sized("a", row.type)))),
                   row.payload) == "Shop:Request [information id=7]: a=" + row.shown);
        if (row.shown.empty())
            continue;
        CHECK(show(metadata({}, fields(0, "") + tag(2, fields(1, sized("a", row.type, true)))),
                   number(2, 2) + row.payload + row.payload) ==
              "Shop:Request [information id=7]: a={" + row.shown + "," + row.shown + "}");
    }
}

TEST_CASE("a date is read as the runtime writes it, or as the layout has it") {
    const auto shown = [](const std::string& payload) {
        return show(metadata({}, fields(2, field("a", date) + field("z", uint8))), payload);
    };
    const std::string begin = "Shop:Request [information id=7]: a=";
    // The runtime: units of 100 ns since 1601. What was earlier is 0.
    CHECK(shown(number(134'024'736'010'071'234, 8) + "\x05") ==
          begin + "2025-09-16T05:20:01.0071234Z z=5");
    CHECK(shown(number(0, 8) + "\x05") == begin + "1601-01-01T00:00:00.0000000Z z=5");
    CHECK(shown(number(~std::uint64_t{0}, 8) + "\x05") ==
          begin + "60056-05-28T05:36:10.9551615Z z=5");
    // What follows does not look like a part of it.
    CHECK(show(metadata({}, fields(2, field("a", date) + field("b", date))),
               number(116'444'736'000'000'000, 8) + number(116'444'736'000'000'001, 8)) ==
          begin + "1970-01-01T00:00:00.0000000Z b=1970-01-01T00:00:00.0000001Z");
    // The layout: eight numbers.
    const std::string day = number(2025, 2) + number(9, 2) + number(2, 2) + number(16, 2);
    CHECK(shown(day + number(5, 2) + number(0, 2) + number(0, 2) + number(0, 2) + "\x05") ==
          begin + "2025-09-16T05:00:00.000Z z=5");
    // Cut off.
    CHECK(show(metadata({}, fields(1, field("a", date))), day.substr(0, 7)).find("cut off") !=
          std::string::npos);
}

TEST_CASE("the header has what metadata and extension say") {
    known_events known;
    const std::string activity =
        std::string("\x03\x02\x01\0\x05\x04\x07\x06", 8) + "\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f";
    CHECK(show(known,
               label(1, metadata({.name = "Get;Tea", .keywords = 0x1f, .version = 3, .level = 2},
                                 fields(0, "") + tag(1, "\x01") + tag(9, "what is not known"))) +
                   label(2, activity) + label(3, activity),
               "") == "Shop:Get;Tea [error keyword=0x1F start id=7 version=3 "
                      "activity=00010203-0405-0607-0809-0a0b0c0d0e0f "
                      "related=00010203-0405-0607-0809-0a0b0c0d0e0f]:");
}

TEST_CASE("objects are structs, in both layouts and in arrays") {
    const std::string inner = fields(2, field("n", uint8) + field("s", text));
    CHECK(show(metadata({}, fields(2, field("o", object, inner) + field("z", uint8))),
               "\x05" + wide("x") + "\x06") == "Shop:Request [information id=7]: o.n=5 o.s=x z=6");
    const std::string sized_inner = fields(2, sized("n", uint8) + sized("l", uint8, true));
    CHECK(show(metadata({}, fields(0, "") + tag(2, fields(2, sized("o", object, true, sized_inner) +
                                                                 sized("z", uint8)))),
               number(2, 2) + "\x05" + number(1, 2) + "\x01" + "\x06" + number(0, 2) + "\x07") ==
          "Shop:Request [information id=7]: o[0].n=5 o[0].l={1} o[1].n=6 o[1].l={} z=7");
    CHECK(show(metadata({}, fields(2, field("o", object, fields(0, "")) + field("z", uint8))),
               "\x06") == "Shop:Request [information id=7]: o={} z=6");
}

TEST_CASE("names are remembered by process, tracepoint and number") {
    known_events known;
    const std::string extension = label(1, metadata({}, fields(1, field("a", uint8))));
    CHECK(show(known, "", "\x05") == "tp [id=7]: " + unknown + "05)");
    CHECK(show(known, extension, "\x05") == "Shop:Request [information id=7]: a=5");
    CHECK(show(known, "", "\x06") == "Shop:Request [information id=7]: a=6");
    CHECK(show(known, "", "\x06", 8) == "tp [id=8]: " + unknown + "06)");
    CHECK(show(known, "", "\x06", 7, 2) == "tp [id=7]: " + unknown + "06)");
    CHECK(show(known, "", "\x06", 7, 1, 2) == "tp [id=7]: " + unknown + "06)");
    // A new version of the event.
    CHECK(show(known, label(1, metadata({.version = 2}, fields(1, field("b", uint8)))), "\x05") ==
          "Shop:Request [information id=7 version=2]: b=5");
    CHECK(show(known, "", "\x06") == "Shop:Request [information id=7 version=2]: b=6");
}

TEST_CASE("a number that two events have is not guessed") {
    known_events known;
    const std::string first = label(1, metadata({}, fields(1, field("a", uint8))));
    const std::string second =
        label(1, metadata({.provider = "Other"}, fields(1, field("b", uint8))));
    CHECK(show(known, first, "\x05") == "Shop:Request [information id=7]: a=5");
    CHECK(show(known, second, "\x05") == "tp [id=7]: " + unknown + "05)");
    CHECK(show(known, first, "\x05") == "tp [id=7]: " + unknown + "05)");
    CHECK(show(known, label(1, metadata({.id = 8}, fields(0, ""))), "", 9) ==
          "tp [id=9]: " + unknown + ")");
}

TEST_CASE("what is malformed is shown as bytes") {
    known_events known;
    CHECK(show(known, "", "\x05", 7, 1, 1, 2) ==
          "tp [id=7]: (not decoded, because its layout has an unknown version: 05)");
    CHECK(show(known, "\x04", "\x05") ==
          "tp [id=7]: (not decoded, because its extension is malformed: 04)");
    CHECK(show(known, label(2, "short"), "\x05").find("its extension is malformed") !=
          std::string::npos);
    // A type that is not known ends the event, but not what is before it.
    CHECK(show(metadata({}, fields(3, field("a", uint8) + field("b", 15) + field("c", uint8))),
               "\x05\x06") == "Shop:Request [information id=7]: a=5 (not decoded, because a field "
                              "has an unknown encoding: 06)");
    CHECK(show(metadata({}, fields(1, field("a", uint32))), "\x05\x06") ==
          "Shop:Request [information id=7]: (not decoded, because a value is cut off: 0506)");
    CHECK(show(metadata({}, fields(1, field("a", text))), "x") ==
          "Shop:Request [information id=7]: (not decoded, because a string has no end: 78)");
}

TEST_CASE("metadata and extensions that are cut off at any byte make nothing known") {
    const std::string whole = metadata(
        {}, fields(0, "") +
                tag(2, fields(1, sized("o", object, true, fields(1, sized("l", uint8, true))))));
    for (std::size_t size = 0; size < whole.size(); size++) {
        INFO(size);
        // Without its tags, it is complete.
        const bool is_complete = size == metadata({}, fields(0, "")).size();
        CHECK((show(whole.substr(0, size), "").find(unknown) == std::string::npos) == is_complete);
    }
    known_events known;
    const std::string extension = label(1, whole) + label(2, std::string(16, 'x'));
    for (std::size_t size = 1; size < extension.size(); size++)
        if (size != label(1, whole).size())
            CHECK(show(known, extension.substr(0, size), "").find("is malformed") !=
                  std::string::npos);
}

TEST_CASE("metadata that ask for too much are malformed") {
    std::string nested = fields(1, field("a", uint8));
    for (int i = 0; i < 8; i++)
        nested = fields(1, field("o", object, nested));
    CHECK(show(metadata({}, nested), "\x05").find("=5") != std::string::npos);
    CHECK(show(metadata({}, fields(1, field("o", object, nested))), "\x05").find(unknown) !=
          std::string::npos);
    std::string many;
    for (int i = 0; i < 4097; i++)
        many += field("", uint8);
    CHECK(show(metadata({}, fields(4097, many)), "").find(unknown) != std::string::npos);
    CHECK(show(metadata({}, fields(-1, "")), "").find(unknown) != std::string::npos);
    CHECK(show(metadata({}, fields(0, "") + tag(2, fields(1, number(3, 4)))), "").find(unknown) !=
          std::string::npos);
}

TEST_CASE("a process that describes very many events loses its own names") {
    known_events known;
    const std::string extension = label(1, metadata({}, fields(1, field("a", uint8))));
    show(known, extension, "\x05", 7, 1);
    std::string many;
    for (int i = 0; i < 4000; i++)
        many += field("name", uint8);
    for (std::uint32_t id = 0; id < 300; id++)
        show(known, label(1, metadata({.id = id}, fields(4000, many))), "",
             static_cast<std::uint16_t>(id), 2);
    CHECK(show(known, "", "\x05", 7, 1) == "Shop:Request [information id=7]: a=5");
    CHECK(show(known, "", "", 0, 2).find(unknown) != std::string::npos);
}
