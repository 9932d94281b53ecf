// SPDX-License-Identifier: GPL-2.0-only
// What processes have had mapped, of which only the latest is remembered.
#include "tracing/mapping_table.hpp"

#include "catch.hpp"

#include <cstdint>
#include <string>

namespace {

using tool::tracing::mapping_table;

constexpr std::uint64_t second = 1'000'000'000, start = 0x1000, size = 0x1000;

tool::tracing::mapping of(std::uint64_t since, const std::string& path, std::uint64_t at = start) {
    return {since, at, size, 0, 1, path};
}

/// The file that a process has had at an address; empty for none.
std::string file(const mapping_table& in, int process, std::uint64_t time,
                 std::uint64_t address = start) {
    const auto found = in.find(process, address, time);
    return found ? found->path : "";
}

/// Maps memory so often that the table is full.
void fill(mapping_table& table, std::uint64_t time) {
    for (std::uint64_t i = 0; !table.is_full(); i++)
        table.add(99, of(time, "other", start + i * size));
}

} // namespace

TEST_CASE("An address belongs to the file that was mapped there last before its time") {
    mapping_table table;
    table.renew({{7, of(0, "old")}});
    table.add(7, of(5 * second, "new"));
    CHECK(file(table, 7, 4 * second) == "old");
    CHECK(file(table, 7, 6 * second, start + size - 1) == "new");
    CHECK(file(table, 7, 6 * second, start + size).empty());
    CHECK(file(table, 7, 6 * second, start - 1).empty());
    CHECK(file(table, 8, 6 * second).empty());
}

TEST_CASE("A child has what its parent had at the fork, until it maps something itself") {
    mapping_table table;
    table.renew({{7, of(0, "parent")}});
    table.fork(8, 7, 2 * second);
    table.add(7, of(3 * second, "later"));
    CHECK(file(table, 8, 4 * second) == "parent");
    table.add(8, of(5 * second, "child"));
    CHECK(file(table, 8, 4 * second) == "parent");
    CHECK(file(table, 8, 6 * second) == "child");
}

TEST_CASE("A process that gets the number of another one does not have its files") {
    mapping_table table;
    table.renew({{7, of(0, "parent")}});
    table.add(8, of(second, "first"));
    table.fork(8, 7, 5 * second);
    CHECK(file(table, 8, 6 * second) == "parent");
    CHECK(file(table, 8, 2 * second).empty());
}

TEST_CASE("What was known before is found until the table is renewed once more") {
    mapping_table table;
    table.renew({{7, of(0, "present")}});
    table.add(8, of(second, "ended"));
    fill(table, second);
    table.renew({{7, of(10 * second, "present")}});
    CHECK_FALSE(table.is_full());
    CHECK(file(table, 8, 2 * second) == "ended");
    CHECK(file(table, 7, 2 * second) == "present");
    table.renew({{7, of(20 * second, "present")}});
    CHECK(file(table, 8, 2 * second).empty());
    CHECK(file(table, 7, 21 * second) == "present");
}

TEST_CASE(
    "A process that had forked before the table was renewed has its number's files of each time") {
    mapping_table table;
    table.renew({{7, of(0, "parent")}});
    table.fork(8, 7, 2 * second);
    // The parent has ended, and another process has its number.
    table.renew({{8, of(10 * second, "parent")}, {7, of(10 * second, "stranger")}});
    CHECK(file(table, 8, 3 * second) == "parent");
    CHECK(file(table, 8, 11 * second) == "parent");
    CHECK(file(table, 7, 3 * second) == "parent");
}

TEST_CASE("A table of many processes is not full at once after it was renewed") {
    mapping_table table;
    mapping_table::present_mappings present;
    for (int process = 1; process <= 100'000; process++)
        present.emplace_back(process, of(second, "library"));
    table.renew(std::move(present));
    CHECK_FALSE(table.is_full());
}
