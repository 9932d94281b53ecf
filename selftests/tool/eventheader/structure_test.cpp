// SPDX-License-Identifier: GPL-2.0-only
// Headers, extensions, names, structs and limits; payloads that are cut off, or of any bytes.
#include "catch.hpp"
#include "decoded.hpp"
#include "eventheader/event.hpp"
#include "eventheader/tracepoint_name.hpp"
#include "payload.hpp"

#include <random>
#include <string>
#include <vector>

using namespace eventheader_test;
using tool::eventheader::append_unescaped;
using tool::eventheader::take_attribute;
using tool::eventheader::to_event;
using tool::eventheader::to_text;
using tool::eventheader::to_tracepoint_name;

namespace {

const std::string activity = from_hex("000102030405060708090a0b0c0d0e0f");
const std::string related = from_hex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");

reason why(const payload& of) {
    return decode(of.bytes()).why;
}

/// Structs in each other, with one byte in the last one.
payload nested(int depth) {
    payload result;
    for (int i = 0; i < depth; i++)
        result.field("s", structure, 1);
    return result.field("a", byte).value("\x01");
}

payload with_fields(int count) {
    payload result;
    for (int i = 0; i < count; i++)
        result.field("a", byte).value("\x01");
    return result;
}

payload array_of_bytes(std::uint64_t length) {
    return payload()
        .field("a", byte, 0, {variable_array, -1, -1})
        .value(length, 2)
        .value(std::string(length, '\1'));
}

/// An event with all that a payload may have.
payload rich(order order) {
    payload result(order);
    result.name("Event;a=b;c=d;;e").extension(2, activity + related).extension(7, "unknown");
    result.field("n", half, 1, {0, -1, 0xbeef}).value(513, 2);
    result.field("s", structure, 3, {0, -1, 1});
    result.field("text", string).value(terminated("hello"));
    result.field("list", half, 3, {constant_array, 2, -1}).value(1, 2).value(2, 2);
    result.field("inner", structure, 1, {variable_array, -1, -1}).value(2, 2);
    result.field("each", counted).value(2, 2).value("ab").value(0, 2);
    result.field("wide", 8).value(0x20ac, 2).value(0, 2);
    result.field("last", 6, 15).value(activity);
    return result;
}

constexpr const char* rich_text =
    "n#48879=513 s#1={ text=hello list=[0x1,0x2] inner=[{ each=ab },{ "
    "each= }] } wide=€ last=00010203-0405-0607-0809-0a0b0c0d0e0f";

} // namespace

TEST_CASE("the header is read in the event's byte order") {
    for (const order order : {order::little, order::big})
        for (const int pointers : {0, 1}) {
            payload made(order, pointers);
            made.version = 11;
            made.id = 1000;
            made.tag = 0x1234;
            made.opcode = 3;
            made.level = 4;
            const payload_copy copy(made.bytes());
            const auto event = to_event(copy.bytes());
            CHECK(event.why_not.why == reason::none);
            CHECK(event.is_big_endian == (order == order::big));
            CHECK(event.has_64_bit_pointers == (pointers == 1));
            CHECK(event.version == 11);
            CHECK(event.id == 1000);
            CHECK(event.tag == 0x1234);
            CHECK(event.opcode == 3);
            CHECK(event.level == 4);
        }
}

TEST_CASE("an event with unknown flags or without metadata cannot be decoded") {
    for (int flags = 8; flags < 256; flags++)
        CHECK(why(payload().flags(flags)) == reason::unknown_flags);
    for (const int flags : {0, 1, 2, 3})
        CHECK(why(payload().flags(flags)) == reason::no_metadata);
    CHECK(why(payload().without_metadata().last_extension(2, activity)) == reason::no_metadata);
    CHECK(why(payload().without_metadata().last_extension(9, "other")) == reason::no_metadata);
    const std::string bytes = payload().flags(2).bytes();
    CHECK(decode(bytes).undecoded == bytes);
}

TEST_CASE("extensions give the activity, and unknown ones are skipped") {
    const payload_copy one(payload().extension(2, activity).bytes());
    CHECK(to_text(to_event(one.bytes()).activity.data) == activity);
    CHECK(to_event(one.bytes()).related_activity.empty());
    const payload_copy two(payload().last_extension(2, activity + related).bytes());
    CHECK(to_text(to_event(two.bytes()).activity.data) == activity);
    CHECK(to_text(to_event(two.bytes()).related_activity.data) == related);
    CHECK(decode(payload()
                     .field("a", byte)
                     .value("\x05")
                     .extension(3, "x")
                     .extension(0x7fff, "")
                     .last_extension(4, "yy")
                     .bytes())
              .text == "a=5");
}

TEST_CASE("an extension that occurs twice, has the kind 0 or a wrong size is an error") {
    const std::string metadata = payload().metadata();
    CHECK(why(payload().extension(1, metadata)) == reason::two_metadata);
    CHECK(why(payload().last_extension(1, metadata)) == reason::two_metadata);
    CHECK(why(payload().extension(2, activity).extension(2, activity)) == reason::two_activities);
    CHECK(why(payload().extension(2, activity).last_extension(2, activity + related)) ==
          reason::two_activities);
    CHECK(why(payload().extension(0, "")) == reason::extension_of_no_kind);
    CHECK(why(payload().last_extension(0, "x")) == reason::extension_of_no_kind);
    for (const std::size_t size : {0, 1, 15, 17, 31, 33})
        CHECK(why(payload().extension(2, std::string(size, 'x'))) ==
              reason::activity_of_wrong_size);
}

TEST_CASE("an event without fields has none") {
    for (const order order : {order::little, order::big}) {
        CHECK(decode(payload(order).bytes()).text == "");
        CHECK(decode(payload(order).bytes()).why == reason::none);
    }
}

TEST_CASE("up to 3 bytes behind the last field are padding, more are an error") {
    for (std::size_t size = 0; size < 8; size++) {
        const decoded found =
            decode(payload().field("a", byte).value("\x05").value(std::string(size, '\0')).bytes());
        CHECK(found.text == "a=5");
        CHECK(found.why == (size <= 3 ? reason::none : reason::bytes_left));
        CHECK(found.undecoded.size() == (size <= 3 ? 0 : size));
    }
}

TEST_CASE("the event's name has attributes, and two semicolons are one") {
    const payload_copy copy(payload().name("a;;b;c=d;e=f;;;g").bytes());
    const auto event = to_event(copy.bytes());
    std::string name;
    append_unescaped(name, name_of(event));
    CHECK(name == "a;b");
    std::string_view rest = event.name_and_attributes.substr(name_of(event).size());
    CHECK(take_attribute(rest) == "c=d");
    CHECK(take_attribute(rest) == "e=f;;");
    CHECK(take_attribute(rest) == "g");
    CHECK(rest.empty());
}

TEST_CASE("a name without an end is an error") {
    const std::string no_metadata = payload().without_metadata().bytes();
    CHECK(decode(no_metadata + from_hex("0200 0100") + "ab").why == reason::no_end_of_event_name);
    CHECK(decode(no_metadata + from_hex("0000 0100")).why == reason::no_end_of_event_name);
    CHECK(why(payload().description("name")) == reason::no_end_of_field_name);
    CHECK(why(payload().description(terminated("name"))) == reason::field_cut_off);
    CHECK(why(payload().description(terminated("name") + "\x82")) == reason::field_cut_off);
    CHECK(why(payload().description(terminated("name") + "\x82\x81t")) == reason::field_cut_off);
    CHECK(why(payload().description(terminated("name") + "\x22\x01")) == reason::field_cut_off);
}

TEST_CASE("a tracepoint's name has provider, level, keyword and options") {
    const auto name = to_tracepoint_name("My_Provider_L4Kf123456789abcdefGmygroup1X2Yz");
    CHECK(name.provider == "My_Provider");
    CHECK(name.level == 4);
    CHECK(name.keyword == 0xf123456789abcdef);
    CHECK(group_of(name) == "mygroup1");
    CHECK(name.options == "Gmygroup1X2Yz");
    CHECK(group_of(to_tracepoint_name("P_L5K0AbGxyZ")) == "xy");
    CHECK(group_of(to_tracepoint_name("P_L5K0")).empty());
    CHECK(to_tracepoint_name("_L1K1").provider.empty());
    for (const char* other :
         {"", "P", "P_", "P_L", "P_L5", "P_L5K", "P_LK0", "P_K0L5", "P_L5K0g", "P_L5KABC_",
          "P_L5K0G-", "P_L5K10000000000000000", "P_L100K0", "P_l5k0", "P_L5K0G."}) {
        INFO(other);
        CHECK(to_tracepoint_name(other).provider == other);
        CHECK(to_tracepoint_name(other).level == 0);
    }
}

TEST_CASE("structs are nested 8 deep, and not deeper") {
    CHECK(decode(nested(8).bytes()).text == "s={ s={ s={ s={ s={ s={ s={ s={ a=1 } } } } } } } }");
    CHECK(why(nested(8)) == reason::none);
    CHECK(why(nested(9)) == reason::too_deep);
    CHECK(decode(nested(9).bytes()).values == 0);
    // Also where there is no struct.
    payload empty;
    empty.field("l", structure, 1, {variable_array, -1, -1}).value(0, 2);
    for (int i = 0; i < 7; i++)
        empty.field("s", structure, 1);
    CHECK(why(payload(empty).field("a", byte)) == reason::none);
    CHECK(why(empty.field("s", structure, 1).field("a", byte)) == reason::too_deep);
}

TEST_CASE("a struct has 1 to 127 fields") {
    CHECK(why(payload().field("s", structure)) == reason::struct_without_fields);
    CHECK(why(payload().field("s", structure, 0, {0, -1, 5})) == reason::struct_without_fields);
    payload many;
    many.field("s", structure, 127);
    std::string expected = "s={";
    for (int i = 0; i < 127; i++) {
        many.field("a", byte).value("\x01");
        expected += " a=1";
    }
    CHECK(decode(many.field("b", byte).value("\x02").bytes()).text == expected + " } b=2");
}

TEST_CASE("a struct may run past the end of the metadata") {
    CHECK(decode(payload().field("s", structure, 5).field("a", byte).value("\x01").bytes()).text ==
          "s={ a=1 }");
    CHECK(decode(payload().field("s", structure, 127).bytes()).text == "s={ }");
    CHECK(why(payload().field("s", structure, 5).field("a", byte).value("\x01")) == reason::none);
    CHECK(decode(payload()
                     .field("s", structure, 5, {constant_array, 2, -1})
                     .field("a", byte)
                     .value("\x01\x02")
                     .bytes())
              .text == "s=[{ a=1 },{ a=2 }]");
}

TEST_CASE("an array of structs without elements skips the descriptions of its fields") {
    for (const order order : {order::little, order::big}) {
        payload made(order);
        made.field("l", structure, 2, {variable_array, -1, -1}).value(0, 2);
        made.field("x", byte).field("in", structure, 2).field("y", string).field("z", half);
        made.field("end", byte).value("\x07");
        CHECK(decode(made.bytes()).text == "l=[] end=7");
        CHECK(decode(made.bytes()).why == reason::none);
    }
    payload wrong;
    wrong.field("l", structure, 2, {variable_array, -1, -1}).value(0, 2).field("x", 0);
    CHECK(why(wrong) == reason::unknown_encoding);
}

TEST_CASE("255 fields are decoded, 256 are an error, and those in structs do not count") {
    CHECK(decode(with_fields(255).bytes()).values == 255);
    CHECK(why(with_fields(255)) == reason::none);
    CHECK(why(with_fields(256)) == reason::too_many_fields);
    CHECK(decode(with_fields(256).bytes()).values == 0);
    payload structs;
    for (int i = 0; i < 255; i++)
        structs.field("s", structure, 2).field("a", byte).field("b", byte).value("\x01\x02");
    CHECK(decode(structs.bytes()).values == 510);
    CHECK(why(structs) == reason::none);
    CHECK(why(structs.field("a", byte)) == reason::too_many_fields);
}

TEST_CASE("4096 items are shown") {
    CHECK(decode(array_of_bytes(4096).bytes()).values == 4096);
    CHECK(why(array_of_bytes(4096)) == reason::none);
    const decoded found = decode(array_of_bytes(4097).bytes());
    CHECK(found.values == 4096);
    CHECK(found.why == reason::too_many_items);
    CHECK(found.undecoded == "\1");
    // Structs without fields take no bytes.
    payload empty;
    empty.field("s", structure, 9, {variable_array, -1, -1}).value(0xffff, 2);
    CHECK(why(empty) == reason::too_many_items);
}

TEST_CASE("an event with many empty arrays of structs ends soon") {
    payload made;
    made.field("s", structure, 127, {constant_array, 4096, -1});
    for (int i = 0; i < 127; i++) {
        made.field("l", structure, 127, {variable_array, -1, -1});
        for (int j = 0; j < 127; j++)
            made.field("", byte);
    }
    made.value(std::string(8000, '\0'));
    CHECK(why(made) == reason::too_many_items);
}

TEST_CASE("an event with long descriptions that are read for each struct ends soon") {
    payload made;
    made.field("s", structure, 1, {constant_array, 4096, -1}).field(std::string(60000, 'a'), byte);
    made.value(std::string(4096, '\0'));
    CHECK(why(made) == reason::too_many_items);
}

TEST_CASE("a string without its end, and a length behind the end, are errors") {
    for (const order order : {order::little, order::big}) {
        for (const int encoding : {7, 8, 9}) {
            const decoded found = decode(payload(order)
                                             .field("a", byte)
                                             .field("t", encoding)
                                             .value("\x05")
                                             .value("\1\1\1\1\1\1\1\1")
                                             .bytes());
            CHECK(found.text == "a=5");
            CHECK(found.why == reason::no_end_of_string);
            CHECK(found.undecoded == "\1\1\1\1\1\1\1\1");
        }
        for (const int encoding : {10, 11, 12, 13}) {
            const payload made = payload(order).field("t", encoding).value(0xffff, 2).value("rest");
            CHECK(why(made) == reason::value_cut_off);
            CHECK(decode(made.bytes()).undecoded == "\xff\xffrest");
        }
        CHECK(why(payload(order).field("l", byte, 0, {variable_array, -1, -1}).value("\x01")) ==
              reason::value_cut_off);
    }
    // Half of a character is no end.
    CHECK(why(payload().field("t", 8).value(from_hex("68000000").substr(0, 3))) ==
          reason::no_end_of_string);
}

TEST_CASE("an event that is cut off anywhere is an error, and shows what is before") {
    for (const order order : {order::little, order::big}) {
        const std::string whole = rich(order).bytes();
        CHECK(decode(whole).text == rich_text);
        CHECK(decode(whole).why == reason::none);
        for (std::size_t size = 0; size < whole.size(); size++) {
            INFO(size << " of " << whole.size() << " bytes");
            const decoded found = decode(whole.substr(0, size));
            CHECK(found.why != reason::none);
            CHECK(found.values < decode(whole).values);
            const std::size_t same = found.text.find_last_not_of("]} ");
            CHECK((same == found.text.npos ||
                   std::string_view(rich_text).starts_with(found.text.substr(0, same + 1))));
            CHECK(whole.substr(0, size).ends_with(found.undecoded));
        }
    }
}

TEST_CASE("metadata that are cut off anywhere show fewer fields") {
    const std::string whole = rich(order::little).metadata();
    const std::string rest = rich(order::little).bytes();
    const std::string values = rest.substr(rest.find(whole) + whole.size());
    for (std::size_t size = 0; size < whole.size(); size++) {
        std::string bytes = payload().without_metadata().bytes();
        bytes += payload().number(size, 2) + from_hex("0100") + whole.substr(0, size) + values;
        INFO(size << " of " << whole.size() << " bytes of metadata");
        const decoded found = decode(bytes);
        CHECK(found.why != reason::none);
        CHECK(found.values < decode(rest).values);
    }
}

TEST_CASE("payloads of any bytes end, and no byte behind is read") {
    std::mt19937 random(1);
    const auto any = [&](std::size_t below) { return random() % below; };
    unsigned errors = 0;
    for (int i = 0; i < 20000; i++) {
        std::string bytes = rich(i % 2 ? order::little : order::big).bytes();
        for (std::size_t count = 1 + any(8); count > 0; count--)
            bytes[any(bytes.size())] = static_cast<char>(any(256));
        bytes.resize(bytes.size() - any(4));
        const decoded found = decode(bytes);
        errors += found.why != reason::none;
        if (!bytes.ends_with(found.undecoded))
            FAIL_CHECK("the rest is not at the end");
    }
    CHECK(errors > 1000);
}
