// SPDX-License-Identifier: GPL-2.0-only
// Outputs that are replaced between two steps of the tool.
#include "text/new_file.hpp"

#include "catch.hpp"
#include "text/errors.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace {

using tool::text::new_file;

/// Called once, after the tool has looked at a file.
std::function<void()> after_stat;

} // namespace

/// In the place of the function of the C library.
extern "C" int stat64(const char* path, struct stat64* found) noexcept {
    const int result = fstatat64(AT_FDCWD, path, found, 0);
    if (const auto call = std::exchange(after_stat, nullptr))
        call();
    return result;
}

TEST_CASE("A pipe that is replaced by a file, or by a link to one, is not written") {
    std::string name = "/tmp/new_file_test.XXXXXX";
    REQUIRE(mkdtemp(name.data()));
    const std::filesystem::path output = name + "/output", file = name + "/file";
    std::ofstream(file) << "old";
    for (const bool is_link : {true, false}) {
        REQUIRE(mkfifo(output.c_str(), 0600) == 0);
        // Without a reader, the tool would wait if after_stat() were not called.
        const int reader = open(output.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        REQUIRE(reader >= 0);
        after_stat = [&] {
            std::filesystem::remove(output);
            if (is_link)
                std::filesystem::create_symlink(file, output);
            else
                std::filesystem::create_hard_link(file, output);
        };
        INFO("is a link: " << is_link);
        CHECK_THROWS_AS(new_file(output).write("new"), tool::text::system_failure);
        CHECK_FALSE(after_stat);
        CHECK(tool::text::contents_of(file) == "old");
        close(reader);
        std::filesystem::remove(output);
    }
    std::filesystem::remove_all(name);
}
