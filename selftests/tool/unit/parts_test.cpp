// SPDX-License-Identifier: GPL-2.0-only
// The files of a recording that was not finished.
#include "tracing/parts.hpp"

#include "catch.hpp"
#include "text/new_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

TEST_CASE("The command for trace-cmd restore has the files in the order of the CPUs' numbers") {
    std::string folder = "/tmp/parts_test.XXXXXX";
    REQUIRE(mkdtemp(folder.data()));
    // In the place of trace-cmd.
    std::ofstream(folder + "/trace-cmd") << "#!/bin/sh\nprintf '<%s>' \"$@\"\n";
    std::filesystem::permissions(folder + "/trace-cmd", std::filesystem::perms::owner_all);
    for (const char* const name : {"trace.dat", "two words.dat", "it's;$(false).dat"}) {
        const std::string path = folder + "/" + name;
        std::string expected = "<restore><-o><OTHER>";
        for (int cpu = 0; cpu < 12; cpu++) {
            const std::string file = path + ".cpu" + std::to_string(cpu) + ".old";
            std::ofstream(file) << cpu;
            expected += "<" + file + ">";
        }
        const std::string command = tool::tracing::restore_command(path, ".old");
        INFO(command);
        std::ofstream(folder + "/run")
            << "PATH=" << folder << ":$PATH\n{ " << command << "; } >" << folder << "/output\n";
        CHECK(std::system(("sh " + folder + "/run").c_str()) == 0);
        CHECK(tool::text::contents_of(folder + "/output") == expected);
    }
    std::filesystem::remove_all(folder);
}
