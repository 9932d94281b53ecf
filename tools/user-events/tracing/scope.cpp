// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/scope.hpp"

#include "text/errors.hpp"
#include "text/table.hpp"
#include "tracing/tasks.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace tool::tracing {

namespace {

void require_process(const std::string& id) {
    const int process = process_of(static_cast<int>(std::strtol(id.c_str(), nullptr, 10)));
    if (process == 0)
        throw text::failure(fmt::format("there is no process {}", id));
    if (std::to_string(process) != id)
        throw text::failure(fmt::format("{} is a thread of the process {}", id, process),
                            fmt::format("record the process: --pid {}", process));
}

} // namespace

const std::string& cgroup_mount_point() {
    static const std::string result = [] {
        std::ifstream mounts("/proc/self/mounts");
        for (std::string line; std::getline(mounts, line);) {
            std::istringstream words(line);
            std::string what, where, type;
            if (words >> what >> where >> type && type == "cgroup2")
                return where;
        }
        return std::string();
    }();
    return result;
}

void scope::limit(rule& to) const {
    to.options[rule::pid] = text::joined(pids, ",");
    to.options[rule::uid] = text::joined(uids, ",");
    to.options[rule::comm] = comm;
    to.options[rule::exe] = exe;
    to.options[rule::cgroup] = cgroup;
}

void scope::require() const {
    for (const auto& id : pids)
        require_process(id);
    if (!cgroup.empty() && !cgroup_mount_point().empty() &&
        access((cgroup_mount_point() + cgroup).c_str(), F_OK) != 0)
        text::warn(fmt::format("there is no control group {} so far", cgroup),
                   "its programs will be recorded as soon as it exists; /proc/PID/cgroup has the "
                   "path of a program's");
}

} // namespace tool::tracing
