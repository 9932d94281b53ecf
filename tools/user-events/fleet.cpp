// SPDX-License-Identifier: GPL-2.0-or-later
#include "fleet.hpp"

#include "text/errors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace tool {

namespace {

/// Where it is built, and where it is installed.
std::array<std::filesystem::path, 2> places() {
    // Not by PATH or argv[0], which belong to the caller.
    std::error_code error;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    if (error)
        throw text::file_failure(error.value(), "read", "/proc/self/exe");
    return {folder / "user-events-fleet", folder.parent_path() / "libexec/user-events-fleet"};
}

} // namespace

bool has_fleet() {
    const auto all = places();
    return std::any_of(all.begin(), all.end(), [](const auto& path) {
        std::error_code error;
        return std::filesystem::exists(path, error);
    });
}

void run_fleet(const char* command, char** argv) {
    for (const auto& path : places()) {
        execv(path.c_str(), argv);
        if (errno != ENOENT)
            throw text::file_failure(errno, "run", path.string());
    }
    throw text::failure(fmt::format("`user-events {}` is not installed", command),
                        "install the package user-events-fleet; from the sources: "
                        "make install-fleet");
}

} // namespace tool
