// SPDX-License-Identifier: GPL-2.0-only
// Filters for what payloads describe.
#include "catch.hpp"
#include "eventheader/payload_filter.hpp"
#include "payload.hpp"
#include "shown.hpp"

#include <string>
#include <vector>

using namespace eventheader_test;
using tool::eventheader::filter;
using tool::eventheader::shown_event;

namespace {

payload request() {
    payload result;
    result.name("Request");
    result.id = 9;
    result.level = 3;
    result.opcode = 1;
    result.field("status", half, 1).value(503, 2);
    result.field("delta", byte, 2).value("\xfe");
    result.field("ratio", twice, 8).value(std::uint64_t{0x3ff8000000000000}, 8); // 1.5
    result.field("big", twice, 3).value(~std::uint64_t{0}, 8);
    result.field("code", word, 4).value(2, 4);
    result.field("path", string).value(terminated("/tea/green"));
    result.field("http", structure, 2);
    result.field("verb", string).value(terminated("GET"));
    result.field("size", word).value(100, 4);
    result.field("l", byte, 0, {variable_array}).value(3, 2).value("\x01\x02\x03");
    result.field("orders", structure, 1, {constant_array, 2});
    result.field("item", string).value(terminated("tea")).value(terminated("jam"));
    result.field("none", counted, 8).value(0, 2);
    return result;
}

bool passes(std::string_view text, const payload& made = request(),
            const char* tracepoint = "P_L3K1f") {
    const payload_copy copy(made.bytes());
    auto parsed = filter::parse(text);
    REQUIRE(parsed);
    return parsed->passes(shown_event(tracepoint, copy.bytes(), all_fields), {"shop", 125, 1});
}

} // namespace

TEST_CASE("a filter compares numbers") {
    for (const char* const text :
         {"status >= 500", "status == 503", "status != 500", "status < 504", "status<=503",
          "status > 0x1f6", "status & 1", "delta == -2", "delta < 0", "ratio == 1.5", "ratio > 1",
          "big == 18446744073709551615", "big > 18446744073709551614", "code == 2", "big > -1"})
        CHECK((passes(text) ? "" : text) == std::string());
    for (const char* const text :
         {"status >= 504", "status == 502", "status != 503", "status & 8", "delta > 0",
          "ratio > 1.5", "big == 18446744073709551614", "code != 2", "big == -1", "status == 08"})
        CHECK((passes(text) ? text : "") == std::string());
}

TEST_CASE("a filter converts a number to the type of the field, as the kernel does") {
    for (const char* const text :
         {"delta == 254", "delta == 0xfe", "delta == 0x1fe", "delta < 0xff", "delta & 0x80",
          "delta & -1", "delta & 2", "status == 0767", "status == 66039", "big & -1"})
        CHECK((passes(text) ? "" : text) == std::string());
    for (const char* const text : {"delta & 1", "delta != 254", "delta > 0xfe", "status & 0x10000",
                                   "status < 65536", "delta == 0376376377"})
        CHECK((passes(text) ? text : "") == std::string());
}

TEST_CASE("a glob behind ! is true for the texts that it does not fit") {
    CHECK(passes("path ~ '!/jam*'"));
    CHECK(!passes("path ~ '!/tea*'"));
    CHECK(passes("path != '!/tea'"));
}

TEST_CASE("a filter has the names of what all records have, as the kernel has them") {
    for (const char* const text : {"comm == shop", "comm ~ \"sh*\"", "cpu == 1", "common_cpu < 2",
                                   "CPU != 0", "cpu & 1", "common_pid & 0x7d"})
        CHECK((passes(text) ? "" : text) == std::string());
    for (const char* const text : {"cpu & CPUS{0-2}", "cpu & CPUS{0,1}", "CPU == CPUS{1}",
                                   "cpu != CPUS{0-1}", "!cpu & CPUS{2-4, 7}"})
        CHECK((passes(text) ? "" : text) == std::string());
    for (const char* const text : {"cpu == CPUS{0-1}", "cpu & CPUS{0,2}", "cpu != CPUS{1}"})
        CHECK((passes(text) ? text : "") == std::string());
    payload own;
    own.field("cpu", byte).value("\x09");
    CHECK(passes("cpu == 9 && CPU == 1", own));
}

TEST_CASE("a filter compares text") {
    for (const char* const text :
         {"path == \"/tea/green\"", "path == '/tea/green'", "path ~ \"/tea*\"", "path !~ '^/jam'",
          "path =~ 'GREEN$'", "code == \"ENOENT\"", "code == \"ENOENT(2)\"", "verb == GET"})
        CHECK((passes(text) ? "" : text) == std::string());
    for (const char* const text : {"path == \"/tea\"", "path ~ \"/TEA*\"", "path =~ '^green'",
                                   "code == \"EPERM\"", "none == \"x\""})
        CHECK((passes(text) ? text : "") == std::string());
}

TEST_CASE("a filter has &&, ||, ! and parentheses, as in C") {
    for (const char* const text :
         {"status == 503 && delta == -2", "status == 1 || delta == -2", "!status == 1",
          "status == 503 || status == 1 && status == 2", "!(status == 1 || delta == 1)",
          "(status == 1 || delta == -2) && !(path == x)", "((status==503))", "!!status == 503",
          "status == 1 && status == 2 || delta == -2"})
        CHECK((passes(text) ? "" : text) == std::string());
    for (const char* const text :
         {"status == 503 && delta == 1", "(status == 503 || status == 1) && status == 2",
          "!status == 503", "!(status == 503)", "!(status == 503) && delta == -2"})
        CHECK((passes(text) ? text : "") == std::string());
}

TEST_CASE("a field of a struct is found by its dotted name, and by a part from any struct on") {
    CHECK(passes("http.verb == GET"));
    CHECK(passes("verb == GET"));
    CHECK(!passes("ttp.verb == GET"));
    CHECK(!passes("http.item == tea"));
}

TEST_CASE("one element of an array is enough") {
    CHECK(passes("l == 2"));
    CHECK(!passes("l == 4"));
    CHECK(passes("orders.item == jam"));
    CHECK(passes("item == tea"));
}

TEST_CASE("a name that no field has is that of the header") {
    for (const char* const text :
         {"level == 3", "level == \"warning\"", "level <= 3", "opcode == 1", "opcode == start",
          "keyword & 0x10", "id == 9", "version == 0", "tag == 0", "provider == P",
          "event ~ 'Req*'", "COMM == shop", "common_pid == 125", "CPU == 1"})
        CHECK((passes(text) ? "" : text) == std::string());
    CHECK(!passes("level == 4"));
    payload own;
    own.level = 3;
    own.field("level", byte).value("\x09");
    CHECK(passes("level == 9", own));
    CHECK(!passes("level == 3", own));
}

TEST_CASE("a comparison with a field that the event lacks is false") {
    CHECK(!passes("no_such == 1"));
    CHECK(!passes("no_such != 1"));
    CHECK(passes("no_such == 1 || status == 503"));
}

TEST_CASE("a filter knows which of its names no record had") {
    auto parsed = filter::parse("a == 1 || status == 1 || b == 1");
    REQUIRE(parsed);
    payload other;
    other.field("b", byte).value("\x01");
    for (const payload& made : {request(), other}) {
        const payload_copy copy(made.bytes());
        parsed->passes(shown_event("P_L3K1", copy.bytes(), all_fields), {"", 0, 0});
    }
    CHECK(parsed->unknown_names() == std::vector<std::string>{"a"});
}

TEST_CASE("the fields before those that cannot be decoded are compared") {
    payload cut;
    cut.field("a", byte).field("b", word).value("\x01");
    CHECK(passes("a == 1", cut));
    CHECK(passes("id == 7", payload().without_metadata()) == false);
    CHECK(passes("level == 5", payload().without_metadata()));
}

TEST_CASE("what is no filter is not taken for one") {
    for (const char* const text : {"",
                                   " ",
                                   "a",
                                   "a ==",
                                   "== 1",
                                   "a == 1 &&",
                                   "a == 1 b == 2",
                                   "a == 1)",
                                   "(a == 1",
                                   "!",
                                   "a = 1",
                                   "a == \"x",
                                   "a < x",
                                   "a && b",
                                   "a == 1 && && b == 2",
                                   "()",
                                   "a =~ '['",
                                   "a == 1 || )",
                                   "a == -",
                                   "a & 1.5",
                                   "a & CPUS{}",
                                   "a & CPUS{1",
                                   "a < CPUS{1}",
                                   "a & CPUS{2-1}",
                                   "a & CPUS{1-}"})
        CHECK((filter::parse(text) ? text : "") == std::string());
}
