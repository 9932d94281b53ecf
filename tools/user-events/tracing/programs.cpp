// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/programs.hpp"

#include "tracing/groups.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>

namespace tool::tracing {

namespace {

namespace fs = std::filesystem;

/// The group with whose events an open file works: it is the data file or a device.
std::optional<std::string> group_of_file(const struct stat& open) {
    struct stat data {};
    if (stat((mount_point() + "/user_events_data").c_str(), &data) == 0 &&
        data.st_dev == open.st_dev && data.st_ino == open.st_ino && S_ISREG(open.st_mode))
        return "default";
    return group_of_device(open);
}

/// Calls a function for each file that a process has open, with its entry in /proc, as far as this
/// user may see them.
template <typename Function>
void for_each_file(int process, Function function) {
    std::error_code hidden;
    for (fs::directory_iterator file(fmt::format("/proc/{}/fd", process), hidden), end;
         !hidden && file != end; file.increment(hidden)) {
        struct stat open {};
        if (stat(file->path().c_str(), &open) == 0)
            function(file->path(), open);
    }
}

/// Lines of fdinfo: "user_event-0:	user_events/order_placed enabled".
void add_events(std::vector<program::event>& to, const std::string& fdinfo) {
    std::ifstream file(fdinfo);
    for (std::string line; std::getline(file, line);) {
        const auto tab = line.find('\t'), slash = line.find('/');
        if (!line.starts_with("user_event-") || tab == line.npos || slash == line.npos)
            continue;
        const auto end = line.find(' ', slash);
        program::event found{
            {line.substr(tab + 1, slash - tab - 1), line.substr(slash + 1, end - slash - 1)},
            end != line.npos};
        if (std::none_of(to.begin(), to.end(),
                         [&](const program::event& other) { return other.name == found.name; }))
            to.push_back(std::move(found));
    }
}

} // namespace

std::optional<program> program_with_events(int id) {
    const std::string process = fmt::format("/proc/{}", id);
    std::optional<program> result;
    for_each_file(id, [&](const fs::path& file, const struct stat& open) {
        auto group = group_of_file(open);
        if (!group)
            return;
        if (!result)
            result = program{id, "", {}, {}};
        result->groups.insert(std::move(*group));
        add_events(result->events, process + "/fdinfo/" + file.filename().string());
    });
    if (result)
        result->name = first_line(process + "/comm");
    return result;
}

std::vector<program> programs_with_events() {
    std::vector<program> result;
    for (const int id : processes())
        if (auto found = program_with_events(id))
            result.push_back(std::move(*found));
    return result;
}

std::vector<int> users_of_instance(const std::string& name) {
    struct stat tracefs {};
    if (stat(mount_point().c_str(), &tracefs) != 0)
        return {};
    // A process may have found it below another mount point.
    const std::string part = fmt::format("/instances/{}/", name);
    std::vector<int> result;
    for (const int id : processes()) {
        bool is_user = false;
        for_each_file(id, [&](const fs::path& file, const struct stat& open) {
            std::error_code error;
            if (!is_user && open.st_dev == tracefs.st_dev)
                is_user = fs::read_symlink(file, error).string().find(part) != std::string::npos;
        });
        if (is_user)
            result.push_back(id);
    }
    return result;
}

} // namespace tool::tracing
