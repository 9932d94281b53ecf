// SPDX-License-Identifier: GPL-2.0-only
// What people see of an event, as text and as JSON.
#include "catch.hpp"
#include "payload.hpp"
#include "shown.hpp"

#include <chrono>
#include <string>
#include <vector>

using namespace eventheader_test;

namespace {

payload full() {
    payload result;
    result.name("Request;unit=ms;note=a;;b");
    result.version = 11;
    result.id = 1000;
    result.tag = 0x1234;
    result.opcode = 1;
    result.level = 3;
    result.extension(2,
                     from_hex("000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f"));
    return result;
}

payload nested() {
    payload result;
    result.field("s", structure, 2, {0, -1, 0xbeef}).field("a", byte, 0, {0, -1, 1}).value("\x05");
    result.field("in", structure, 1).field("b", byte).value("\x06");
    result.field("l", structure, 2, {variable_array, -1, -1}).value(2, 2);
    result.field("c", byte, 0, {0, -1, 2}).field("d", byte, 0, {constant_array, 2, 3});
    return result.value("\x01\x02\x03\x04\x05\x06");
}

} // namespace

TEST_CASE("a line has the names of provider and event, the level, the header and the fields") {
    CHECK(line(payload().field("a", byte).value("\x05").bytes()) == "P:E [verbose]: a=5");
    CHECK(line(full().bytes(), "My_Provider_L3Kf0Gg") ==
          "My_Provider:Request [warning keyword=0xF0 start id=1000 version=11 tag=0x1234 "
          "activity=00010203-0405-0607-0809-0a0b0c0d0e0f "
          "related=10111213-1415-1617-1819-1a1b1c1d1e1f]:");
    payload plain;
    plain.level = 0;
    CHECK(line(plain.bytes(), "P_L0K0") == "P:E:");
    plain.level = 9;
    plain.opcode = 7;
    CHECK(line(plain.bytes(), "P_L9K0") == "P:E [level=9 opcode=7]:");
}

TEST_CASE("levels and opcodes have names") {
    const char* const names[] = {"critical", "error", "warning", "information", "verbose"};
    for (int level = 1; level <= 5; level++) {
        payload made;
        made.level = level;
        CHECK(line(made.bytes()) == "P:E [" + std::string(names[level - 1]) + "]:");
    }
    payload made;
    made.opcode = 2;
    CHECK(line(made.bytes()) == "P:E [verbose stop]:");
}

TEST_CASE("JSON has the header with what is not zero, and the fields") {
    CHECK(json(payload().field("a", byte).value("\x05").bytes()) ==
          R"({"event":"P:E","header":{"tracepoint":"P_L5K0","provider":"P","level":"verbose"},)"
          R"("fields":{"a":5}})");
    CHECK(json(full().bytes(), "My_Provider_L3Kf0Gg") ==
          R"({"event":"My_Provider:Request","header":{"tracepoint":"My_Provider_L3Kf0Gg",)"
          R"("provider":"My_Provider","group":"g","level":"warning","keyword":"0xF0",)"
          R"("opcode":"start","id":1000,"version":11,"tag":"0x1234",)"
          R"("activity":"00010203-0405-0607-0809-0a0b0c0d0e0f",)"
          R"("related_activity":"10111213-1415-1617-1819-1a1b1c1d1e1f",)"
          R"("attributes":{"unit":"ms","note":"a;b"}},"fields":{}})");
    payload other;
    other.level = 9;
    other.opcode = 7;
    CHECK(json(other.bytes(), "P").find(R"("level":9,"opcode":7)") != std::string::npos);
}

TEST_CASE("structs are objects in JSON, and dotted names in text") {
    CHECK(line(nested().bytes()) ==
          "P:E [verbose]: s.a=5 s.in.b=6 l[0].c=1 l[0].d={2,3} l[1].c=4 l[1].d={5,6}");
    CHECK(
        json(nested().bytes())
            .ends_with(
                R"("fields":{"s":{"a":5,"in":{"b":6}},"l":[{"c":1,"d":[2,3]},{"c":4,"d":[5,6]}]},)"
                R"("tags":{"s":"0xBEEF","s.a":"0x1","l.c":"0x2","l.d":"0x3"}})"));
}

TEST_CASE("what has no values is shown as empty") {
    payload made;
    made.field("a", byte, 0, {variable_array, -1, -1}).value(0, 2);
    made.field("l", structure, 1, {variable_array, -1, -1}).field("x", byte).value(0, 2);
    made.field("s", structure, 1);
    CHECK(line(made.bytes()) == "P:E [verbose]: a={} l={} s={}");
    CHECK(json(made.bytes()).ends_with(R"("fields":{"a":[],"l":[],"s":{}}})"));
}

TEST_CASE("values are numbers, truth values, null or text in JSON") {
    payload made;
    made.field("n", counted, 1).value(0, 2).field("yes", byte, 7).value("\x01");
    made.field("no", word, 7).value(0, 4).field("two", byte, 7).value("\x02");
    made.field("x", byte, 3).value("\xff").field("nan", word, 8).value(0x7fc00000, 4);
    made.field("real", word, 8).value(0x3f000000, 4).field("error", word, 4).value(1, 4);
    made.field("minus", byte, 2).value("\xff").field("raw", byte, 9).value("\x0a");
    made.field("t", word, 6).value(0, 4).field("text", string).value(terminated("a\"\n\x01"));
    CHECK(
        json(made.bytes())
            .ends_with(
                R"("fields":{"n":null,"yes":true,"no":false,"two":2,"x":"0xFF","nan":"nan","real":0.5,)"
                R"-("error":"EPERM(1)","minus":-1,"raw":"0a","t":"1970-01-01T00:00:00Z",)-"
                R"("text":"a\"\n\u0001"}})"));
    CHECK(line(made.bytes()) ==
          R"(P:E [verbose]: n=(null) yes=true no=false two=2 x=0xFF nan=nan real=0.5 )"
          R"(error=EPERM(1) minus=-1 raw=0a t=1970-01-01T00:00:00Z text="a\"\n\x01")");
}

TEST_CASE("of a name, 256 bytes are shown, and of the names of structs in structs together") {
    const std::string name(300, 'a'), shown(256, 'a');
    payload made;
    made.field(name, structure, 1).field(name, byte).value("\x05");
    CHECK(line(made.bytes()) == "P:E [verbose]: " + shown + ".=5");
    CHECK(line(payload().field(name, byte).value("\x05").bytes()) ==
          "P:E [verbose]: " + shown + "=5");
}

TEST_CASE("text that looks like what is shown of a null or a list is quoted") {
    payload made;
    made.field("a", 7).value("(null)").value(0, 1).field("b", 7).value("{}").value(0, 1);
    CHECK(line(made.bytes()) == "P:E [verbose]: a=\"(null)\" b=\"{}\"");
}

TEST_CASE("no text can be taken for another field, or control a terminal") {
    payload made;
    made.name("E\x1b[31m a=1:");
    made.field("a b", string)
        .value(terminated("c=d"))
        .field("x\n", string)
        .value(std::string(1, '\0'));
    made.field("l", string, 0, {constant_array, 4, -1});
    made.value(terminated("a,b") + terminated("") + terminated("}") + terminated("c"));
    CHECK(line(made.bytes()) ==
          R"("P:E\x1b[31m a=1:" [verbose]: "a b"="c=d" x\n= l={"a,b","","}",c})");
}

TEST_CASE("an empty element of an array is shown") {
    payload made;
    made.field("b", 13, 0, {constant_array, 3, -1})
        .value(0, 2)
        .value(0, 2)
        .value(1, 2)
        .value("\x01");
    made.field("n", counted, 1, {constant_array, 2, -1}).value(0, 2).value(0, 2);
    CHECK(line(made.bytes()) == R"(P:E [verbose]: b={"","",01} n={(null),(null)})");
    CHECK(json(made.bytes()).ends_with(R"("fields":{"b":["","","01"],"n":[null,null]}})"));
}

TEST_CASE("fields of the same name are all shown") {
    const std::string bytes = payload().field("a", byte).field("a", byte).value("\1\2").bytes();
    CHECK(line(bytes) == "P:E [verbose]: a=1 a=2");
    CHECK(json(bytes).ends_with(R"("fields":{"a":1,"a_2":2}})"));
}

TEST_CASE("no JSON object has a name twice") {
    payload made;
    made.name("E;a=1;a=2");
    made.field("a", byte, 0, {0, -1, 7}).field("a_2", byte).field("a", byte, 0, {0, -1, 8});
    made.field("s", structure, 2).field("a", byte).field("a", byte);
    made.field("l", structure, 2, {constant_array, 2}).field("\xfe", byte).field("\xff", byte);
    made.field("(not decoded)", byte).field("s", byte).field("", byte).field("", byte);
    const std::string shown = json(made.value("\1\2\3\4\5\6\7\6\7\x08\x09\1\2").bytes());
    CHECK(shown.find(R"("attributes":{"a":"1","a_2":"2"})") != shown.npos);
    CHECK(shown.find(R"("fields":{"a":1,"a_2":2,"a_3":3,"s":{"a":4,"a_2":5},)"
                     R"("l":[{"�":6,"�_2":7},{"�":6,"�_2":7}],)"
                     R"x("(not decoded)":8,"s_2":9,"":1,"_2":2})x") != shown.npos);
    CHECK(shown.find(R"("tags":{"a":"0x7","a_2":"0x8"})") != shown.npos);
}

TEST_CASE("thousands of attributes of one name take no long time") {
    std::string name = "E";
    for (int i = 0; i < 5000; i++)
        name += ";a=1";
    const auto start = std::chrono::steady_clock::now();
    CHECK(json(payload().name(name).bytes()).find(R"(,"a_4999":"1","a_5000":"1"})") !=
          std::string::npos);
    // With sanitizers, it takes less than a second.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST_CASE("only chosen fields are shown, with all that is in them") {
    CHECK(line(nested().bytes(), "P_L5K0", {"s"}) == "P:E [verbose]: s.a=5 s.in.b=6");
    CHECK(line(nested().bytes(), "P_L5K0", {"l", "a", "b"}) ==
          "P:E [verbose]: l[0].c=1 l[0].d={2,3} l[1].c=4 l[1].d={5,6}");
    CHECK(json(nested().bytes(), "P_L5K0", {"l"})
              .ends_with(R"("fields":{"l":[{"c":1,"d":[2,3]},{"c":4,"d":[5,6]}]},)"
                         R"("tags":{"l.c":"0x2","l.d":"0x3"}})"));
    CHECK(line(nested().bytes(), "P_L5K0", {"other"}) == "P:E [verbose]:");
}

TEST_CASE("what cannot be decoded is shown as bytes, with the reason") {
    const std::string cut = payload().field("a", byte).field("t", string).value("\x05hi").bytes();
    CHECK(line(cut) == "P:E [verbose]: a=5 (not decoded, because a string has no end: 6869)");
    CHECK(json(cut).ends_with(
        R"("fields":{"a":5},"error":"a string has no end","undecoded":"6869"})"));
    CHECK(line(from_hex("0300 0000 0000 0005"), "P_L5K1") ==
          "P_L5K1 [verbose keyword=0x1]: (not decoded, because it has no metadata: "
          "0300000000000005)");
    CHECK(json("", "P_L5K1") ==
          R"({"event":"P_L5K1","header":{"tracepoint":"P_L5K1","provider":"P","keyword":"0x1"},)"
          R"("fields":{},"error":"its header is cut off","undecoded":""})");
    // Structs and arrays that are not complete have their ends.
    const std::string all_of_it = nested().bytes();
    CHECK(json(all_of_it.substr(0, all_of_it.size() - 1))
              .find(R"("l":[{"c":1,"d":[2,3]},{"c":4,"d":[5]}]},)") != std::string::npos);
}

TEST_CASE("a name that is no tracepoint's of this kind is the provider") {
    CHECK(line(payload().bytes(), "other") == "other:E [verbose]:");
}
