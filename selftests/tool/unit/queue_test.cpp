// SPDX-License-Identifier: GPL-2.0-only
// How much waits for the collector.
#include "catch.hpp"
#include "otlp/queue.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
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

std::string state_in(const std::string& directory) {
    std::ostringstream text;
    text << std::ifstream(directory + "/state").rdbuf();
    return text.str();
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

TEST_CASE("what others have left in the spool keeps no request from being sent") {
    std::string directory = "/tmp/queue_test_XXXXXX";
    REQUIRE(mkdtemp(directory.data()));
    const auto open = [&] {
        auto made =
            std::make_unique<queue>(directory, 20'000, [](const auto&) { return std::string(); });
        // front() does not wait.
        made->stop();
        return made;
    };
    // After the largest number there is no next one, and a directory cannot be read.
    std::ofstream(directory + "/18446744073709551615.logs.1.1") << "x";
    std::filesystem::create_directory(directory + "/5.logs.1.1");
    auto all = open();
    CHECK(all->is_empty());
    all->put({.records = 1, .body = "mine"});
    all->finish();
    all->put({.records = 1, .body = "mine, too"});
    all.reset();
    all = open();
    CHECK(all->front().value_or(tool::otlp::request()).body == "mine, too");
    all->finish();
    CHECK(all->drops().empty());
    all.reset();
    std::filesystem::remove_all(directory);
}

TEST_CASE("records that need not be sent are not lost ones, and take no write each") {
    std::string directory = "/tmp/queue_test_XXXXXX";
    REQUIRE(mkdtemp(directory.data()));
    std::unique_ptr<queue> all;
    // What an earlier process has not saved is lost.
    const auto begin = [&](std::uint64_t read) {
        all.reset();
        all = std::make_unique<queue>(directory, 20'000, [](const auto&) { return std::string(); });
        all->set_instance("i", read);
    };
    begin(0);
    std::string before = state_in(directory);
    for (int i = 0; i < 5; i++)
        all->skip(1);
    CHECK(state_in(directory) == before);
    all->set_lost_in_kernel(0);
    CHECK(state_in(directory) != before);
    begin(5);
    CHECK(all->drops().empty());
    // The name of a file has the sum, too.
    before = state_in(directory);
    all->skip(3);
    all->put({.records = 1, .body = "x"});
    all->set_lost_in_kernel(0);
    CHECK(state_in(directory) == before);
    begin(9);
    CHECK(all->drops().empty());
    all->skip(2);
    begin(11);
    CHECK(all->drops()["killed"] == 2);
    all.reset();
    std::filesystem::remove_all(directory);
}
