// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/errors.hpp"

#include "text/escape.hpp"
#include "text/write_all.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <grp.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::text {

namespace {

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

std::string remedy_for_device(const std::string& path) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0 && found.st_gid != 0 && found.st_mode & S_IWGRP)
        if (const group* const admitted = getgrgid(found.st_gid))
            return fmt::format("an administrator can add this user to the group {0}, from the next "
                               "login on: usermod -aG {0} USER",
                               admitted->gr_name);
    return fmt::format("an administrator can admit your group: chgrp GROUP {0} && chmod g+rw {0}",
                       path);
}

} // namespace

std::string remedy_for(int error, std::string_view path) {
    const bool is_device = path == "/dev/user_mark" || contains(path, "/dev/user_events");
    const bool is_module = is_device || contains(path, "user_events_");
    switch (error) {
    case EACCES:
    case EPERM:
        if (is_device)
            return remedy_for_device(std::string(path));
        if (contains(path, "tracing"))
            return "run it as root, or have an administrator admit your group to tracefs: mount "
                   "-o remount,mode=750,gid=GROUP /sys/kernel/tracing";
        return {};
    case ENOENT:
        if (is_module)
            return "load the kernel module: modprobe user_events; `user-events doctor` says more";
        if (contains(path, "tracing"))
            return "mount tracefs: mount -t tracefs tracefs /sys/kernel/tracing";
        return {};
    case ENODEV:
    case ENXIO:
        return is_module ? "the module is being loaded or unloaded: try again" : "";
    case ENOSPC:
        return "free some space, or choose another file with -o";
    default:
        return {};
    }
}

system_failure file_failure(int error, std::string_view doing, std::string_view path) {
    return {error, fmt::format("cannot {} {}: {}", doing, path, std::strerror(error)),
            remedy_for(error, path)};
}

void say(std::string_view text) noexcept {
    write_all(STDERR_FILENO, text);
}

void warn(std::string_view message, std::string_view remedy) noexcept {
    try {
        std::string text = "user-events: ";
        append_escaped(text, message);
        if (!remedy.empty())
            append_escaped(text += "\n  ", remedy);
        say(text += '\n');
    } catch (const std::bad_alloc&) {
        say("user-events: not enough memory for a message\n");
    }
}

} // namespace tool::text
