// SPDX-License-Identifier: GPL-2.0-only
// Numbers in the head of a recording, which have 64 bits also where pointers have 32.
#include "catch.hpp"
#include "recording/file_head.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

using namespace tool::recording;

namespace {

constexpr std::uint64_t four_gigabytes = std::uint64_t{1} << 32;

void add(std::string& to, std::uint64_t number, std::uint32_t size, bool is_big_endian) {
    std::array<std::byte, 8> bytes{};
    write_number(std::span(bytes).first(size), number, is_big_endian);
    to.append(reinterpret_cast<const char*>(bytes.data()), size);
}

/// A head of version 6 without events, and with one CPU.
std::string made_head(bool is_big_endian, std::uint64_t offset, std::uint64_t size) {
    const auto number = [&](std::string& to, std::uint64_t value, std::uint32_t width) {
        add(to, value, width, is_big_endian);
    };
    using std::string_view_literals::operator""sv;
    std::string head("\x17\x08\x44tracing6\0"sv);
    head += static_cast<char>(is_big_endian);
    head += '\x8';
    number(head, 4096, 4);
    const std::string page = "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n";
    (head += "header_page") += '\0';
    number(head, page.size(), 8);
    head += page;
    (head += "header_event") += '\0';
    number(head, 0, 8);
    // Formats, systems, functions, texts, tasks, CPUs.
    for (const std::uint32_t width : {4, 4, 4, 4, 8})
        number(head, 0, width);
    number(head, 1, 4);
    head += "flyrecord\0"sv;
    number(head, offset, 8);
    number(head, size, 8);
    return head;
}

} // namespace

TEST_CASE("records may lie behind the first four gigabytes of a file") {
    const bool is_big_endian = GENERATE(false, true);
    const auto head =
        read_head(made_head(is_big_endian, 5 * four_gigabytes + 3, 7 * four_gigabytes + 1));
    REQUIRE(head.buffers.size() == 1);
    REQUIRE(head.buffers[0].cpus.size() == 1);
    CHECK(head.buffers[0].cpus[0].offset == 5 * four_gigabytes + 3);
    CHECK(head.buffers[0].cpus[0].size == 7 * four_gigabytes + 1);
    CHECK(head.pages.is_big_endian == is_big_endian);
}

TEST_CASE("a size whose lower 32 bits alone would fit is damage") {
    std::string text;
    add(text, four_gigabytes + 1, 8, false);
    text += "abc";
    byte_reader from(text, false);
    CHECK_THROWS_AS(from.sized(8), bad_file);
    CHECK_THROWS_AS(byte_reader(text, false).take(four_gigabytes + 1), bad_file);
    CHECK(byte_reader("abc", false).take(3) == "abc");
}

TEST_CASE("numbers are written and read with each width and byte order") {
    const bool is_big_endian = GENERATE(false, true);
    for (std::uint32_t size = 1; size <= 8; size++) {
        const std::uint64_t number = 0xfedcba9876543210 >> (64 - 8 * size);
        std::array<std::byte, 8> bytes{};
        write_number(std::span(bytes).first(size), number, is_big_endian);
        CHECK(read_number(bytes.data(), size, false, is_big_endian) == number);
        CHECK(std::to_integer<unsigned>(bytes[is_big_endian ? 0 : size - 1]) == 0xfe);
        // The highest bit is set.
        CHECK(static_cast<std::int64_t>(read_number(bytes.data(), size, true, is_big_endian)) < 0);
    }
}

TEST_CASE("ticks of a processor become nanoseconds, with all digits") {
    const clock_conversion none;
    CHECK(none(~std::uint64_t{0}) == ~std::uint64_t{0});
    const clock_conversion ticks{.multiplier = 0x40000000, .shift = 31, .offset = 1000};
    CHECK(ticks(1ULL << 62) == (1ULL << 61) + 1000);
    // The products have up to 96 bits.
    const auto converted = [](std::uint64_t time, std::uint32_t multiplier, std::uint32_t shift) {
        return clock_conversion{.multiplier = multiplier, .shift = shift, .offset = 0}(time);
    };
    CHECK(converted((1ULL << 63) + 12345, 0x80000001, 31) == 9223372041149755449U);
    CHECK(converted(123456789012345, 1 << 22, 22) == 123456789012345U);
    CHECK(converted(~0ULL, ~0U, 32) == 18446744069414584319U);
    CHECK(converted(~0ULL, ~0U, 33) == 9223372034707292159U);
    CHECK(converted(987654321987654321, 3'000'000'000, 63) == 321245088U);
    CHECK(converted((1ULL << 40) + 3, 7, 0) == 7696581394453U);
}
