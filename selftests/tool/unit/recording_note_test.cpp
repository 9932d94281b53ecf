// SPDX-License-Identifier: GPL-2.0-only
// The file that says which instance records into a file.
#include "commands/recording_note.hpp"

#include "catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

TEST_CASE("A note that was removed leaves that of the next recording of the same file") {
    std::string folder = "/tmp/recording_note_test.XXXXXX";
    REQUIRE(mkdtemp(folder.data()));
    const std::string output = folder + "/trace.dat";
    std::optional<tool::recording_note> first(output);
    first->remove();
    {
        const tool::recording_note next(output);
        first.reset();
        CHECK(std::filesystem::exists(next.path()));
    }
    CHECK_FALSE(std::filesystem::exists(output + ".recording"));
    std::filesystem::remove_all(folder);
}
