// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/checks.hpp"
#include "diagnosis/container.hpp"
#include "diagnosis/facts.hpp"
#include "text/errors.hpp"
#include "text/table.hpp"
#include "tracing/data_file.hpp"
#include "tracing/tracefs.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <grp.h>
#include <linux/magic.h>
#include <memory>
#include <mntent.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
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

/// What to do about an error of the device or of the data file.
std::string remedy_of(int error, const std::string& path, const struct stat* node) {
    const container_engine* const here = engine();
    if (!here || path == "/dev/user_mark")
        return text::remedy_for(error, path);
    if (error == ENOENT && path.ends_with("user_events_data"))
        return here->data_file;
    return remedy_in_container(*here, error, node);
}

/// Whether this user may do this with a file.
finding may_access(const std::string& path, int mode, const char* what, const std::string& remedy) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0 && access(path.c_str(), mode) == 0)
        return good(fmt::format("{} ({}): this user may {}", path, owner_and_mode(found), what));
    const int error = errno;
    const bool exists = found.st_mode != 0;
    return note(fmt::format("{}{}: {}", path,
                            exists ? fmt::format(" ({})", owner_and_mode(found)) : "",
                            std::strerror(error)),
                engine() || error != EACCES || remedy.empty()
                    ? remedy_of(error, path, exists ? &found : nullptr)
                    : remedy);
}

constexpr char device_path[] = "/dev/user_events/default";

/// What is where tracefs should be: the number of a file system, or 0.
decltype(statfs::f_type) type_of_file_system(const char* path) {
    struct statfs found {};
    return statfs(path, &found) == 0 ? found.f_type : 0;
}

finding without_tracefs() {
    constexpr char usual_path[] = "/sys/kernel/tracing";
    const container_engine* const here = engine();
    const auto type = type_of_file_system(usual_path);
    if (type == TRACEFS_MAGIC)
        return bad(
            fmt::format("{} is empty: a kernel that was booted with lockdown=confidentiality "
                        "has no files there",
                        usual_path),
            "boot without lockdown=confidentiality");
    if (const auto data_file = std::string(usual_path) + "/user_events_data";
        here && access(data_file.c_str(), F_OK) == 0) {
        finding result = may_access(data_file, R_OK | W_OK, "register and write", "");
        result.is_absent = true;
        return result;
    }
    if (type != 0 && type != SYSFS_MAGIC)
        return absent(fmt::format("something is mounted over {}", usual_path),
                      here ? here->unmask : fmt::format("umount {}", usual_path));
    if (here)
        return absent("it is not in this container: programs find the device, and records are read "
                      "outside, or with --from",
                      fmt::format("for programs that look only there: {}", here->data_file));
    return bad("it is not mounted", fmt::format("mount -t tracefs tracefs {}", usual_path));
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

/// An errno, or 0.
int error_of_open(const char* path) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return errno;
    close(file);
    return 0;
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
        return without_tracefs();
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
    return may_access(device_path, R_OK | W_OK, "register and write", "");
}

finding registering() {
    try {
        const tracing::data_file file;
        return good("this user may register and write events");
    } catch (const text::failure& error) {
        const container_engine* const here = engine();
        struct stat found {};
        const bool exists = stat(device_path, &found) == 0;
        // Only opening it tells that a node leads nowhere.
        const int node = here ? error_of_open(device_path) : 0;
        if (!node)
            throw;
        return bad(error.what(), remedy_of(node, device_path, exists ? &found : nullptr));
    }
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
