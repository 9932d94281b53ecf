// SPDX-License-Identifier: GPL-2.0-only
// The records in pages of ring buffers, which may have any bytes.
#include "catch.hpp"
#include "recording/ring_buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace tool::recording;

namespace {

constexpr std::uint64_t start = 0x1234567890;

/// A page of a kernel of this kind.
class made_page {
public:
    explicit made_page(bool is_big_endian = false, unsigned long_size = 8)
        : layout{.size = 256, .long_size = long_size, .is_big_endian = is_big_endian} {}

    made_page& word(std::uint64_t number) {
        put(content_, number, 4);
        return *this;
    }
    /// A head of a record.
    made_page& head(unsigned type, unsigned delta) {
        return word(layout.is_big_endian ? type << 27 | delta : type | delta << 5);
    }
    std::vector<std::byte> bytes(std::uint64_t flags = 0) const {
        std::vector<std::byte> result;
        put(result, start, 8);
        put(result, content_.size() | flags, layout.long_size);
        result.insert(result.end(), content_.begin(), content_.end());
        put(result, 99, layout.long_size); // a number of missing records
        result.resize(layout.size);
        return result;
    }

    page_layout layout;

private:
    void put(std::vector<std::byte>& to, std::uint64_t number, unsigned size) const {
        for (unsigned i = 0; i < size; i++)
            to.push_back(
                static_cast<std::byte>(number >> 8 * (layout.is_big_endian ? size - 1 - i : i)));
    }
    std::vector<std::byte> content_;
};

struct found_record {
    std::uint64_t after_start;
    std::size_t size;
    bool operator==(const found_record&) const = default;
};

struct found_records {
    std::vector<found_record> records;
    bool is_damaged;
};

found_records read(const page_layout& layout, const std::vector<std::byte>& page) {
    // Just as large, so that sanitizers see each access outside of it.
    const std::unique_ptr<std::byte[]> copy(new std::byte[page.size()]);
    std::copy(page.begin(), page.end(), copy.get());
    page_records records(layout);
    records.load({copy.get(), page.size()});
    found_records result{};
    while (records.next())
        result.records.push_back({records.time() - start, records.data().size()});
    result.is_damaged = records.is_damaged();
    return result;
}

found_records read(const made_page& page) {
    return read(page.layout, page.bytes());
}

using all = std::vector<found_record>;

} // namespace

TEST_CASE("a page has short and long records, whose times count from one to the next") {
    for (const bool is_big_endian : {false, true})
        for (const unsigned long_size : {4U, 8U}) {
            made_page page(is_big_endian, long_size);
            page.head(2, 5).word(1).word(2).head(0, 6).word(4 + 8).word(1).word(2);
            const auto found = read(page);
            CHECK(found.records == all{{5, 8}, {11, 8}});
            CHECK_FALSE(found.is_damaged);
        }
}

TEST_CASE("extensions and stamps of time count for the records behind them") {
    made_page page;
    page.head(30, 1).word(2).head(1, 3).word(0).head(31, 7).word(start >> 27).head(1, 1).word(0);
    CHECK(read(page).records == all{{(2 << 27) + 4, 4}, {(start >> 27 << 27) + 8 - start, 4}});
}

TEST_CASE("older records are removed from a page, with what is missing before them") {
    for (const bool is_big_endian : {false, true})
        for (const unsigned long_size : {4U, 8U}) {
            made_page page(is_big_endian, long_size);
            page.head(2, 5).word(1).word(2).head(30, 1).word(2).head(0, 6).word(4 + 8).word(1).word(
                2);
            page.head(1, 7).word(3);
            const std::uint64_t second = 5 + (2 << 27) + 1 + 6;
            for (const auto& [from, expected] :
                 {std::pair(std::uint64_t{0}, all{{5, 8}, {second, 8}, {second + 7, 4}}),
                  {std::uint64_t{5}, all{{5, 8}, {second, 8}, {second + 7, 4}}},
                  {std::uint64_t{6}, all{{second, 8}, {second + 7, 4}}},
                  {second + 1, all{{second + 7, 4}}}}) {
                auto bytes = page.bytes(3U << 30);
                remove_older(bytes, page.layout, start + from);
                const auto found = read(page.layout, bytes);
                CHECK(found.records == expected);
                CHECK_FALSE(found.is_damaged);
                page_records records(page.layout);
                records.load(bytes);
                CHECK_FALSE(records.missing().has_value());
            }
        }
}

TEST_CASE("padding is passed over, and is the end of the page if it has no time") {
    made_page page;
    page.head(29, 2).word(8).word(0).head(1, 3).word(0).head(29, 0).word(0).head(1, 1).word(0);
    CHECK(read(page).records == all{{5, 4}});
    CHECK_FALSE(read(page).is_damaged);
}

TEST_CASE("a length that makes no sense ends the page, and no record before it is lost") {
    const made_page pages[] = {
        made_page().head(1, 1).word(0).head(29, 1).word(0xfffffffc).word(0),
        made_page().head(1, 1).word(0).head(29, 1).word(0xfffffff8).word(0),
        made_page().head(1, 1).word(0).head(0, 1).word(0).word(0),
        made_page().head(1, 1).word(0).head(0, 1).word(3).word(0),
        made_page().head(1, 1).word(0).head(0, 1).word(0xffffffff).word(0),
        made_page().head(1, 1).word(0).head(28, 1).word(0),
        made_page().head(1, 1).word(0).head(30, 1),
    };
    for (const auto& page : pages) {
        const auto found = read(page);
        CHECK(found.records == all{{1, 4}});
        CHECK(found.is_damaged);
    }
}

TEST_CASE("a page that says to be longer than it is has no records") {
    made_page page;
    page.head(1, 1).word(0);
    for (const std::uint64_t size : {1ULL << 26, 4096ULL, 240ULL}) {
        const auto found = read(page.layout, page.bytes(size));
        CHECK(found.records.empty());
        CHECK(found.is_damaged);
    }
    CHECK(read(page.layout, std::vector<std::byte>(15)).is_damaged);
}

TEST_CASE("a page tells how many records are missing before it, if it can") {
    made_page page;
    page.head(1, 1).word(0);
    page_records records(page.layout);
    const std::uint64_t is_missing = 1U << 31, has_number = 1U << 30;
    const auto missing = [&](std::uint64_t flags) {
        const auto bytes = page.bytes(flags);
        records.load(bytes);
        return records.missing();
    };
    CHECK(missing(0) == std::nullopt);
    CHECK(missing(is_missing) == 0);
    CHECK(missing(is_missing | has_number) == 99);
    CHECK(missing(has_number) == std::nullopt);
}

TEST_CASE("records of several buffers are in the order of time, and then of the buffers") {
    merged_buffers buffers;
    for (const int cpu : {7, 8, 9}) {
        made_page page;
        page.head(1, cpu == 8 ? 3 : 5).word(0).head(1, 4).word(0);
        buffers.add(std::make_unique<ring_buffer>(
            cpu, page.layout, [bytes = page.bytes(), pages = 1](std::span<std::byte> to) mutable {
                std::copy(bytes.begin(), bytes.end(), to.begin());
                return pages-- > 0;
            }));
    }
    buffers.refill();
    std::vector<std::pair<int, std::uint64_t>> found;
    while (const auto first = buffers.first()) {
        found.emplace_back(buffers[*first].cpu(), buffers[*first].time() - start);
        buffers.advance_first();
    }
    CHECK(found == std::vector<std::pair<int, std::uint64_t>>{
                       {8, 3}, {7, 5}, {9, 5}, {8, 7}, {7, 9}, {9, 9}});
    buffers.refill();
    CHECK_FALSE(buffers.first());
}
