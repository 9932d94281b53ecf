// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/mounted.hpp"

#include "text/errors.hpp"
#include "tracing/buffers.hpp"
#include "tracing/wall_clock.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::tracing {

namespace {

/// What has to be there, besides the directories of the events' systems, which may come later.
struct piece {
    const char* path;
    mode_t type;
    const char* has;
};

constexpr piece pieces[] = {
    {"per_cpu", S_IFDIR, "the records"},
    {"trace_clock", S_IFREG, "the clock of the records"},
    {"events", S_IFDIR, "the formats of the records"},
    {"events/header_page", S_IFREG, "the size of the buffers' pages"},
};

void require_readable(const instance& in, const std::string& piece, int mode) {
    const std::string path = in.path(piece);
    if (faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0)
        return;
    throw text::failure(fmt::format("this user may not read {}: {}", path, std::strerror(errno)),
                        fmt::format("an administrator can give it to this user's group: chgrp -R "
                                    "GROUP /sys/kernel/tracing/instances/NAME/{}",
                                    piece));
}

void require(const piece& piece, const instance& in) {
    const std::string path = in.path(piece.path);
    struct stat found {};
    if (stat(path.c_str(), &found) != 0) {
        if (errno == EACCES)
            require_readable(in, "", X_OK);
        throw text::failure(
            fmt::format("{} lacks {}, which has {}", in.name(), piece.path, piece.has),
            fmt::format("bind-mount all of an instance, or this file of it too: "
                        "/sys/kernel/tracing/instances/NAME/{}",
                        piece.path));
    }
    if ((found.st_mode & S_IFMT) != piece.type)
        throw text::failure(
            fmt::format("{} is no {}", path,
                        piece.type == S_IFDIR ? "directory" : "file of tracefs"),
            "bind-mount an instance of tracefs, /sys/kernel/tracing/instances/NAME");
    require_readable(in, piece.path, piece.type == S_IFDIR ? R_OK | X_OK : R_OK);
}

} // namespace

instance open_mounted(const std::string& directory, clock needed) {
    instance result = instance::mounted(directory);
    for (const piece& each : pieces)
        require(each, result);
    const auto numbers = cpus(result);
    if (numbers.empty())
        throw text::failure(fmt::format("{} has no CPU", result.path("per_cpu")),
                            "bind-mount the whole directory, with those in it");
    for (const int cpu : numbers)
        require_readable(result, fmt::format("per_cpu/cpu{}/trace_pipe_raw", cpu), R_OK);
    if (needed == clock::any)
        return result;
    if (const auto name = name_of_clock(result); !readable_clock(name))
        throw text::failure(
            fmt::format("the clock of {}, {}, does not tell the time of day", result.name(), name),
            "an administrator can change that, which empties the instance: echo mono "
            ">/sys/kernel/tracing/instances/NAME/trace_clock; `user-events record`, `user-events "
            "top` and `user-events watch --since-boot` take any clock");
    return result;
}

bool has_threads_of_records() {
    // PROC_PID_INIT_INO of the kernel.
    constexpr ino_t initial = 0xeffffffc;
    struct stat found {};
    return stat("/proc/self/ns/pid", &found) == 0 && found.st_ino == initial;
}

} // namespace tool::tracing
