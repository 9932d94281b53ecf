// SPDX-License-Identifier: GPL-2.0-only
// How much waits for the collector.
#include "catch.hpp"
#include "otlp/queue.hpp"
#include "text/errors.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <system_error>
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

/// While the object exists, no file can get any contents: a disk that is full, also for root.
class full_disk {
public:
    full_disk() : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &limit_);
        set({0, limit_.rlim_max});
    }
    full_disk(const full_disk&) = delete;
    full_disk& operator=(const full_disk&) = delete;
    ~full_disk() {
        setrlimit(RLIMIT_FSIZE, &limit_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    static void set(const rlimit& to) {
        if (setrlimit(RLIMIT_FSIZE, &to) != 0)
            throw std::system_error(errno, std::generic_category(), "setrlimit");
    }

    void (*handler_)(int);
    rlimit limit_{};
};

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

TEST_CASE("records dropped before they are read are not among those read of the instance") {
    queue all("", 20'000, [](const auto&) { return std::string(); });
    all.drop_unread(tool::otlp::reason::stopped, 5);
    all.set_instance("i", 7);
    CHECK(all.drops() == tool::otlp::drop_counts{{"killed", 7}, {"stopped", 5}});
}

TEST_CASE("counts that could not be written while the disk was full are written later") {
    std::string directory = "/tmp/queue_test_XXXXXX";
    REQUIRE(mkdtemp(directory.data()));
    std::unique_ptr<queue> all;
    // As after kill -9: the destructor writes nothing.
    const auto begin = [&] {
        all.reset();
        all = std::make_unique<queue>(directory, 20'000, [](const auto&) { return std::string(); });
    };
    begin();
    all->set_instance("i", 0);
    const auto while_full = [](const auto& function) {
        const full_disk full;
        function();
    };
    SECTION("with the next request, what did not fit on the disk") {
        while_full([&] { all->put({.records = 5, .body = "x"}); });
        all->put({.records = 1, .body = "y"});
        begin();
        CHECK(all->drops() == tool::otlp::drop_counts{{"disk", 5}});
        // None of the six is missing.
        all->set_instance("i", 6);
        CHECK(all->drops() == tool::otlp::drop_counts{{"disk", 5}});
    }
    SECTION("with what the kernel has lost, also if that is nothing, what the collector rejected") {
        all->put({.records = 5, .body = "x"});
        while_full([&] { all->finish(3); });
        all->set_lost_in_kernel(0);
        begin();
        CHECK(all->drops() == tool::otlp::drop_counts{{"rejected", 3}});
        all->set_instance("i", 5);
        CHECK(all->drops() == tool::otlp::drop_counts{{"rejected", 3}});
    }
    SECTION("what a killed process has lost") {
        // A failed CHECK could not write its message while the disk is full.
        bool has_failed = false;
        while_full([&] {
            try {
                all->set_instance("i", 7);
            } catch (const tool::text::system_failure&) {
                has_failed = true;
            }
        });
        CHECK(has_failed);
        all->put({.records = 1, .body = "y"});
        begin();
        CHECK(all->drops() == tool::otlp::drop_counts{{"killed", 7}});
    }
    all.reset();
    std::filesystem::remove_all(directory);
}
