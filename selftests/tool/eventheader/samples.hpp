// SPDX-License-Identifier: GPL-2.0-only
// Payloads with each encoding and format, alone and in arrays, and what they mean.
#pragma once

#include "payload.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace eventheader_test {

inline constexpr int unknown_format = 19;
inline constexpr int largest_format = 127;

using by_format = std::map<int, std::string>;

/// A value in a payload, and what it means with each format; with those that are not listed, it
/// means the usual thing.
struct sample {
    int encoding;
    eventheader_test::order order;
    const char* hex;
    std::string usual;
    by_format others;
};

inline by_format with(by_format to, std::initializer_list<int> formats, const std::string& value) {
    for (const int format : formats)
        to.try_emplace(format, value);
    return to;
}

/// For text of all formats but bytes.
inline by_format text(const std::string& value, by_format others) {
    return with(std::move(others), {10, 11, 12, 13, 14}, value);
}

/// For what is null with all formats of fixed size.
inline const by_format null = with({}, {1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 18}, "null");

inline constexpr auto little = order::little, big = order::big;
inline constexpr const char* uuid = "00112233445566778899aabbccddeeff";

inline const std::vector<sample> samples{
    // 8 bits
    {2, little, "00", "0", text(std::string(1, '\0'), {{3, "0x0"}, {7, "false"}, {9, "00"}})},
    {2, big, "01", "1", text("\x01", {{3, "0x1"}, {7, "true"}, {9, "01"}})},
    {2, little, "41", "65", text("A", {{3, "0x41"}, {7, "65"}, {9, "41"}})},
    {2, big, "c8", "200", text("È", {{2, "-56"}, {3, "0xC8"}, {9, "c8"}})},
    // 16 bits
    {3, little, "0050", "20480", text("倀", {{3, "0x5000"}, {9, "0050"}, {16, "80"}})},
    {3, big, "0050", "80", text("P", {{3, "0x50"}, {9, "0050"}, {16, "80"}})},
    {3, little, "0100", "1", text("\x01", {{3, "0x1"}, {7, "true"}, {9, "0100"}, {16, "256"}})},
    {3, big, "fffe", "65534",
     text("\xef\xbf\xbe", {{2, "-2"}, {3, "0xFFFE"}, {9, "fffe"}, {16, "65534"}})},
    {3, little, "00d8", "55296",
     text("\ufffd", {{2, "-10240"}, {3, "0xD800"}, {9, "00d8"}, {16, "216"}})},
    // 32 bits
    {4, little, "02000000", "2",
     text("\x02", {{3, "0x2"},
                   {4, "ENOENT(2)"},
                   {6, "1970-01-01T00:00:02Z"},
                   {8, "3e-45"},
                   {9, "02000000"},
                   {17, "2.0.0.0"},
                   {18, "2.0.0.0"}})},
    {4, big, "00000000", "0",
     text(std::string(1, '\0'), {{3, "0x0"},
                                 {4, "ERRNO(0)"},
                                 {6, "1970-01-01T00:00:00Z"},
                                 {7, "false"},
                                 {8, "0"},
                                 {9, "00000000"},
                                 {17, "0.0.0.0"},
                                 {18, "0.0.0.0"}})},
    {4, little, "ffffffff", "4294967295",
     text("\ufffd", {{2, "-1"},
                     {3, "0xFFFFFFFF"},
                     {4, "ERRNO(-1)"},
                     {5, "-1"},
                     {6, "1969-12-31T23:59:59Z"},
                     {7, "-1"},
                     {8, "-nan"},
                     {9, "ffffffff"},
                     {17, "255.255.255.255"},
                     {18, "255.255.255.255"}})},
    {4, big, "40490fdb", "1078530011",
     text("\ufffd", {{3, "0x40490FDB"},
                     {4, "ERRNO(1078530011)"},
                     {6, "2004-03-05T23:40:11Z"},
                     {8, "3.1415927"},
                     {9, "40490fdb"},
                     {17, "64.73.15.219"},
                     {18, "64.73.15.219"}})},
    {4, little, "ffff1000", "1114111",
     text("\xf4\x8f\xbf\xbf", {{3, "0x10FFFF"},
                               {4, "ERRNO(1114111)"},
                               {6, "1970-01-13T21:28:31Z"},
                               {8, "1.561202e-39"},
                               {9, "ffff1000"},
                               {17, "255.255.16.0"},
                               {18, "255.255.16.0"}})},
    // 64 bits
    {5,
     little,
     "000000000000f83f",
     "4609434218613702656",
     {{3, "0x3FF8000000000000"},
      {6, "TIME(4609434218613702656)"},
      {8, "1.5"},
      {9, "000000000000f83f"}}},
    {5,
     big,
     "000000007fffffff",
     "2147483647",
     {{3, "0x7FFFFFFF"},
      {6, "2038-01-19T03:14:07Z"},
      {8, "1.060997895e-314"},
      {9, "000000007fffffff"}}},
    {5,
     little,
     "ffffffffffffffff",
     "18446744073709551615",
     {{2, "-1"},
      {3, "0xFFFFFFFFFFFFFFFF"},
      {6, "1969-12-31T23:59:59Z"},
      {8, "-nan"},
      {9, "ffffffffffffffff"}}},
    {5,
     big,
     "7ff0000000000000",
     "9218868437227405312",
     {{3, "0x7FF0000000000000"},
      {6, "TIME(9218868437227405312)"},
      {8, "inf"},
      {9, "7ff0000000000000"}}},
    // 128 bits
    {6,
     little,
     uuid,
     uuid,
     {{15, "00112233-4455-6677-8899-aabbccddeeff"},
      {17, "11:2233:4455:6677:8899:aabb:ccdd:eeff"},
      {18, "11:2233:4455:6677:8899:aabb:ccdd:eeff"}}},
    {6,
     big,
     "00000000000000000000000000000001",
     "00000000000000000000000000000001",
     {{15, "00000000-0000-0000-0000-000000000001"}, {17, "::1"}, {18, "::1"}}},
    // Strings up to a NUL
    {7, little, "686900", "hi", {{9, "6869"}}},
    {7, big, "00", "", {}},
    {7, little, "c3a900", "é", {{9, "c3a9"}, {10, "\u00c3\u00a9"}}},
    {7, big, "68e900", "hé", {{9, "68e9"}}},
    {7,
     little,
     "efbbbf6800",
     "\ufeffh",
     {{9, "efbbbf68"}, {10, "\u00ef\u00bb\u00bfh"}, {12, "h"}, {13, "h"}, {14, "h"}}},
    {8, little, "680069000000", "hi", {{9, "68006900"}}},
    {8, big, "006800690000", "hi", {{9, "00680069"}}},
    {8, little, "3dd800de0000", "😀", {{9, "3dd800de"}}},
    {8, big, "d83d00680000", "\ufffdh", {{9, "d83d0068"}}},
    {8,
     little,
     "feff00680000",
     "\xef\xbf\xbe\u6800",
     {{9, "feff0068"}, {12, "h"}, {13, "h"}, {14, "h"}}},
    {9, little, "6800000000f6010000000000", "h\U0001f600", {{9, "6800000000f60100"}}},
    {9, big, "0000006800000000", "h", {{9, "00000068"}}},
    {9, big, "0011000000000000", "\ufffd", {{9, "00110000"}}},
    {9,
     big,
     "fffe00006800000000000000",
     "\ufffd\ufffd",
     {{9, "fffe000068000000"}, {12, "h"}, {13, "h"}, {14, "h"}}},
    // Strings with a length
    {10, little, "0000", "", null},
    {10, big, "0000", "", null},
    {10, little, "0100 c8", "È", {{1, "200"}, {2, "-56"}, {3, "0xC8"}, {7, "200"}, {9, "c8"}}},
    {10,
     little,
     "0200 6869",
     "hi",
     {{1, "26984"}, {2, "26984"}, {3, "0x6968"}, {7, "26984"}, {9, "6869"}, {16, "26729"}}},
    {10,
     big,
     "0002 6869",
     "hi",
     {{1, "26729"}, {2, "26729"}, {3, "0x6869"}, {7, "26729"}, {9, "6869"}, {16, "26729"}}},
    {10, big, "0003 610062", std::string("a\0b", 3), {{9, "610062"}}},
    {10,
     little,
     "0400 01000000",
     std::string("\1\0\0\0", 4),
     {{1, "1"},
      {2, "1"},
      {3, "0x1"},
      {4, "EPERM(1)"},
      {5, "1"},
      {6, "1970-01-01T00:00:01Z"},
      {7, "true"},
      {8, "1e-45"},
      {9, "01000000"},
      {17, "1.0.0.0"},
      {18, "1.0.0.0"}}},
    {10,
     big,
     "0008 4141414141414141",
     "AAAAAAAA",
     {{1, "4702111234474983745"},
      {2, "4702111234474983745"},
      {3, "0x4141414141414141"},
      {6, "TIME(4702111234474983745)"},
      {8, "2261634.5098039214"},
      {9, "4141414141414141"}}},
    {10,
     little,
     "1000 41414141414141414141414141414141",
     "AAAAAAAAAAAAAAAA",
     {{9, "41414141414141414141414141414141"},
      {15, "41414141-4141-4141-4141-414141414141"},
      {17, "4141:4141:4141:4141:4141:4141:4141:4141"},
      {18, "4141:4141:4141:4141:4141:4141:4141:4141"}}},
    {11, little, "0200 68006900", "hi", {{9, "68006900"}}},
    {11, big, "0001 20ac", "€", {{9, "20ac"}}},
    {11, little, "0000", "", {}},
    {11, big, "0002 feff 0068", "\ufeffh", {{9, "feff0068"}, {12, "h"}, {13, "h"}, {14, "h"}}},
    {12, little, "0100 ac200000", "€", {{9, "ac200000"}}},
    {12, big, "0001 0001f600", "😀", {{9, "0001f600"}}},
    {12, big, "0000", "", {}},
    // Bytes with a length
    {13, little, "0000", "", null},
    {13, little, "0100 01", "01", text("\x01", {{1, "1"}, {2, "1"}, {3, "0x1"}, {7, "true"}})},
    {13, big, "0002 0050", "0050",
     text(std::string("\0P", 2), {{1, "80"}, {2, "80"}, {3, "0x50"}, {7, "80"}, {16, "80"}})},
    {13, little, "0300 e28294", "e28294", text("\u2094", {{10, "x"}})},
    {13, big, "0004 00000002", "00000002",
     text(std::string("\0\0\0\2", 4), {{1, "2"},
                                       {2, "2"},
                                       {3, "0x2"},
                                       {4, "ENOENT(2)"},
                                       {5, "2"},
                                       {6, "1970-01-01T00:00:02Z"},
                                       {7, "2"},
                                       {8, "3e-45"},
                                       {17, "0.0.0.2"},
                                       {18, "0.0.0.2"}})},
    {13,
     little,
     "0600 fffe68006900",
     "fffe68006900",
     {{10, "\u00ff\u00feh\0i\0"}, {11, "x"}, {12, "hi"}, {13, "hi"}, {14, "hi"}}},
    {13,
     little,
     "0800 0000feff00000068",
     "0000feff00000068",
     {{1, "7493989784239341568"},
      {2, "7493989784239341568"},
      {3, "0x68000000FFFE0000"},
      {6, "TIME(7493989784239341568)"},
      {8, "9.124889937143696e+192"},
      {10, "x"},
      {11, "x"},
      {12, "h"},
      {13, "h"},
      {14, "h"}}},
    {13,
     big,
     "0010 00112233445566778899aabbccddeeff",
     uuid,
     {{10, "x"},
      {11, "x"},
      {12, "x"},
      {13, "x"},
      {14, "x"},
      {15, "00112233-4455-6677-8899-aabbccddeeff"},
      {17, "11:2233:4455:6677:8899:aabb:ccdd:eeff"},
      {18, "11:2233:4455:6677:8899:aabb:ccdd:eeff"}}},
};

struct array_kind {
    eventheader_test::extras extras;
    int length; // -1: no array
};

inline const array_kind array_kinds[] = {
    {{}, -1},
    {{constant_array, 1, -1}, 1},
    {{constant_array, 2, 0x1234}, 2},
    {{variable_array, -1, -1}, 0},
    {{variable_array, -1, 0xffff}, 3},
};

inline std::string payload_of(const sample& sample, int format, const array_kind& kind) {
    payload result(sample.order);
    result.field("f", sample.encoding, format, kind.extras).field("end", 2);
    if (kind.extras.array == variable_array)
        result.value(static_cast<std::uint64_t>(kind.length), 2);
    for (int i = 0; i < (kind.length < 0 ? 1 : kind.length); i++)
        result.value(from_hex(sample.hex));
    return result.value(7, 1).bytes();
}

inline std::vector<int> all_formats() {
    std::vector<int> result;
    for (int format = 0; format <= unknown_format; format++)
        result.push_back(format);
    result.push_back(largest_format);
    return result;
}

/// These would be Latin-1 of bytes that no other row has: characters_test has them.
inline bool is_elsewhere(const std::string& expected) {
    return expected == "x" || expected.starts_with("\u00ff\u00fe");
}

/// Calls the function with sample, format, array_kind and the value's text, for all that can be.
template <typename Function>
void for_each_sample(Function function) {
    for (const sample& sample : samples)
        for (const int format : all_formats())
            for (const array_kind& kind : array_kinds) {
                const auto other = sample.others.find(format);
                const std::string& value =
                    other == sample.others.end() ? sample.usual : other->second;
                if (!is_elsewhere(value))
                    function(sample, format, kind, value);
            }
}

} // namespace eventheader_test
