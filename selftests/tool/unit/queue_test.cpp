// SPDX-License-Identifier: GPL-2.0-only
// How much waits for the collector.
#include "catch.hpp"
#include "otlp/queue.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

using tool::otlp::queue;

namespace {

/// How many requests with a body of this size are not dropped, of ten.
std::uint64_t fitting(const std::string& directory, std::uint64_t most, int size) {
    queue all(directory, most, [](const auto&) { return std::string(); });
    for (int i = 0; i < 10; i++)
        all.put({.records = 1, .body = std::string(static_cast<std::size_t>(size), 'x')});
    const std::uint64_t dropped = all.drops()["spool"];
    all.clear(tool::otlp::reason::stopped);
    return 10 - dropped;
}

} // namespace

TEST_CASE("a file of the spool counts with its whole blocks of 4 KiB") {
    std::string directory = "/tmp/queue_test_XXXXXX";
    REQUIRE(mkdtemp(directory.data()));
    // A file also has a checksum.
    for (const auto& [size, most] : {std::pair{1, 4U}, {4000, 4U}, {4096, 2U}}) {
        CAPTURE(size);
        CHECK(fitting(directory + "/" + std::to_string(size), 20'000, size) == most);
    }
    CHECK(fitting("", 20'000, 4000) == 5);
    std::filesystem::remove_all(directory);
}
