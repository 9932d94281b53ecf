// SPDX-License-Identifier: GPL-2.0-only
// Each encoding with each format, alone and in arrays.
#include "catch.hpp"
#include "decoded.hpp"
#include "payload.hpp"
#include "samples.hpp"

#include <set>
#include <string>

using namespace eventheader_test;

namespace {

std::string expected_text(const std::string& value, const array_kind& kind) {
    std::string result = "f";
    if (kind.extras.tag >= 0)
        result += "#" + std::to_string(kind.extras.tag);
    result += '=';
    if (kind.length < 0)
        return result + value + " end=7";
    result += '[';
    for (int i = 0; i < kind.length; i++)
        result += (i ? "," : "") + value;
    return result + "] end=7";
}

} // namespace

TEST_CASE("each encoding has a value with each format, alone and in each kind of array") {
    std::set<std::string> different;
    for_each_sample(
        [&](const sample& sample, int format, const array_kind& kind, const std::string& value) {
            const std::string payload = payload_of(sample, format, kind);
            different.insert(payload);
            const decoded found = decode(payload);
            INFO("encoding " << sample.encoding << ", format " << format << ", value " << sample.hex
                             << ", array of " << kind.length);
            CHECK(found.text == expected_text(value, kind));
            CHECK(found.why == reason::none);
        });
    CHECK(different.size() > 2000);
}

TEST_CASE("each encoding and format that ends too early is an error, and no byte behind is read") {
    for (const sample& sample : samples)
        for (const array_kind& kind : array_kinds) {
            const std::string whole = payload_of(sample, 0, kind);
            const std::string text = decode(whole).text;
            for (std::size_t size = 0; size < whole.size(); size++) {
                INFO("encoding " << sample.encoding << ", value " << sample.hex << ", array of "
                                 << kind.length << ", " << size << " bytes");
                const decoded found = decode(whole.substr(0, size));
                CHECK(found.why != reason::none);
                // An array that is cut off has its bracket nevertheless.
                const std::size_t same = found.text.find_last_not_of("]}");
                CHECK(
                    (same == found.text.npos || text.starts_with(found.text.substr(0, same + 1))));
                CHECK(whole.substr(0, size).ends_with(found.undecoded));
            }
        }
}

TEST_CASE("encodings that do not exist are an error, with the description and all behind it") {
    for (const int encoding : {0, 14, 15, 16, 31}) {
        const std::string bytes =
            payload().field("a", 2).field("b", encoding, 1).value("\x05\x06").bytes();
        const decoded found = decode(bytes);
        INFO("encoding " << encoding);
        CHECK(found.text == "a=5");
        CHECK(found.why == reason::unknown_encoding);
        CHECK(found.undecoded ==
              terminated("b") + static_cast<char>(encoding | 0x80) + "\x01" + "\x05\x06");
    }
}

TEST_CASE("a wrong bit for arrays is an error") {
    CHECK(
        decode(payload().field("a", 2, 0, {constant_array | variable_array, 1, -1}).bytes()).why ==
        reason::two_kinds_of_array);
    CHECK(decode(payload().field("a", 2, 0, {constant_array, 0, -1}).bytes()).why ==
          reason::empty_constant_array);
}

TEST_CASE("bytes with a length are text in Latin-1, UTF-8, or what their mark says") {
    const auto text = [](const char* hex, int format) {
        const std::string value = from_hex(hex);
        return decode(payload().field("t", 13, format).value(value.size(), 2).value(value).bytes())
            .text.substr(2);
    };
    CHECK(text("e28294", 10) == "\u00e2\u0082\u0094");
    CHECK(text("fffe", 10) == "\u00ff\u00fe");
    CHECK(text("fffe", 11) == "\u00ff\u00fe");
    CHECK(text("fffe", 12) == "");
    CHECK(text("fffe68", 12) == "\ufffd");
    CHECK(text("feff0068", 13) == "h");
    CHECK(text("fffe0000680000", 12) == "\ufffd");
    CHECK(text("0000feff0000006800", 14) == "h\ufffd");
    CHECK(text("efbbbf", 12) == "");
    CHECK(text("efbbbf68ff", 12) == "h\u00ff");
}
