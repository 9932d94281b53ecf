// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/checks.hpp"
#include "diagnosis/system.hpp"
#include "text/errors.hpp"
#include "text/table.hpp"
#include "tracing/data_file.hpp"
#include "tracing/tracefs.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <grp.h>
#include <memory>
#include <mntent.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tool::diagnosis {

namespace {

/// "root:tracers 0660"
std::string owner_and_mode(const struct stat& of) {
    const passwd* const user = getpwuid(of.st_uid);
    const group* const users = getgrgid(of.st_gid);
    return fmt::format("{}:{} {:04o}", user ? user->pw_name : std::to_string(of.st_uid),
                       users ? users->gr_name : std::to_string(of.st_gid), of.st_mode & 07777);
}

/// Whether this user may do this with a file.
finding may_access(const std::string& path, int mode, const char* what, const std::string& remedy) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0 && access(path.c_str(), mode) == 0)
        return good(fmt::format("{} ({}): this user may {}", path, owner_and_mode(found), what));
    const int error = errno;
    return note(fmt::format("{}{}: {}", path,
                            found.st_mode ? fmt::format(" ({})", owner_and_mode(found)) : "",
                            std::strerror(error)),
                error == EACCES && !remedy.empty() ? remedy : text::remedy_for(error, path));
}

/// All places where tracefs is mounted.
std::vector<std::string> mounts_of_tracefs() {
    std::vector<std::string> result;
    const std::unique_ptr<FILE, decltype(&endmntent)> file(setmntent("/proc/self/mounts", "re"),
                                                           endmntent);
    while (const mntent* const mount = file ? getmntent(file.get()) : nullptr)
        if (std::strcmp(mount->mnt_type, "tracefs") == 0)
            result.emplace_back(mount->mnt_dir);
    return result;
}

/// CAP_PERFMON, or CAP_SYS_ADMIN, which includes it.
bool may_use_perf() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("CapEff:")) {
            const auto capabilities = std::strtoull(line.c_str() + 7, nullptr, 16);
            return capabilities & (1ULL << 38 | 1ULL << 21);
        }
    return false;
}

} // namespace

finding tracefs() {
    const auto& tracing = tracing::mount_point();
    if (tracing.empty())
        return bad("it is not mounted", "mount -t tracefs tracefs /sys/kernel/tracing");
    // Entering the one in debugfs mounts it.
    if (access((tracing + "/events").c_str(), F_OK) != 0)
        return bad(fmt::format("this user may not enter {}: programs cannot find events there, "
                               "and records cannot be read",
                               tracing),
                   text::remedy_for(EACCES, tracing));
    struct stat found {};
    stat(tracing.c_str(), &found);
    return good(fmt::format("mounted on {} ({})", text::joined(mounts_of_tracefs(), " and "),
                            owner_and_mode(found)));
}

finding data_file() {
    return may_access(tracing::mount_point() + "/user_events_data", R_OK | W_OK,
                      "register and write",
                      fmt::format("chmod 711 {0}; chgrp GROUP {0}/user_events_data; chmod 660 "
                                  "{0}/user_events_data",
                                  tracing::mount_point()));
}

finding device() {
    if (origin_of_events() == origin::built_in)
        return good("only the module has it");
    return may_access("/dev/user_events/default", R_OK | W_OK, "register and write", "");
}

finding registering() {
    const tracing::data_file file;
    return good("this user may register and write events");
}

finding marks() {
    if (origin_of_events() == origin::built_in)
        return good("only the module has them");
    return may_access("/dev/user_mark", W_OK, "make marks", "");
}

finding perf() {
    const std::string paranoid = first_line("/proc/sys/kernel/perf_event_paranoid");
    if (paranoid.empty())
        return note("this kernel has no perf", "boot a kernel with CONFIG_PERF_EVENTS=y");
    if (may_use_perf() || std::atoi(paranoid.c_str()) < 0)
        return good(fmt::format("this user may record events (kernel.perf_event_paranoid is {})",
                                paranoid));
    return note(fmt::format("this user may not record tracepoints (kernel.perf_event_paranoid is "
                            "{})",
                            paranoid),
                "sysctl kernel.perf_event_paranoid=-1, or: setcap cap_perfmon+ep PERF");
}

} // namespace tool::diagnosis
