// SPDX-License-Identifier: GPL-2.0-or-later
#include "diagnosis/container.hpp"

#include "diagnosis/checks.hpp"
#include "diagnosis/facts.hpp"
#include "tracing/mounted.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace tool::diagnosis {

namespace {

constexpr char run_device[] =
    "run it with --device /dev/user_events/GROUP:/dev/user_events/default";
constexpr char run_data_file[] =
    "run it with --security-opt apparmor=unconfined --tmpfs /sys/kernel/tracing:dev "
    "--device /dev/user_events/GROUP:/sys/kernel/tracing/user_events_data";

/// The last one is for a container whose engine is not known.
constexpr container_engine engines[] = {
    {"kubernetes",
     "have a device plugin, such as generic-device-plugin, give it /dev/user_events/GROUP as "
     "/dev/user_events/default",
     "mount an emptyDir at /sys/kernel/tracing, and there the volume of the device as "
     "user_events_data",
     "procMount: Unmasked in the securityContext",
     "supplementalGroups: [GID] in the securityContext"},
    {"podman", run_device, run_data_file, "run it with --security-opt unmask=/sys/kernel/tracing",
     "run it with --group-add keep-groups, or --user"},
    {"docker", run_device, run_data_file, "run it with --security-opt systempaths=unconfined",
     "run it with --group-add GID, or --user"},
    {"lxc",
     "lxc.mount.entry = /dev/user_events/GROUP dev/user_events/default none bind,create=file and "
     "lxc.cgroup2.devices.allow = c MAJOR:MINOR rw",
     "lxc.mount.entry = /dev/user_events/GROUP sys/kernel/tracing/user_events_data none "
     "bind,create=file",
     "lxc.mount.auto = sys:mixed", "lxc.init.groups = GID"},
    {"systemd-nspawn",
     "run it with --bind=/dev/user_events/GROUP:/dev/user_events/default "
     "--property='DeviceAllow=/dev/user_events/GROUP rw'",
     "run it with --tmpfs=/sys/kernel/tracing "
     "--bind=/dev/user_events/GROUP:/sys/kernel/tracing/user_events_data",
     "run it with --bind=/sys/kernel/tracing", "run it with --user="},
    {"unknown engine",
     "bind-mount /dev/user_events/GROUP on /dev/user_events/default there, and permit it in the "
     "container's device controller",
     "bind-mount /dev/user_events/GROUP on /sys/kernel/tracing/user_events_data there",
     "have the engine mount nothing over /sys/kernel/tracing",
     "give the container's user the group of the device"},
};

/// The variable "container" of the first process, which engines set.
std::string variable_of_first_process() {
    constexpr std::string_view name = "container=";
    std::ifstream file("/proc/1/environ");
    for (std::string variable; std::getline(file, variable, '\0');)
        if (variable.starts_with(name))
            return variable.substr(name.size());
    return {};
}

/// A line of uid_map: IDs here, IDs outside, how many.
struct mapped_users {
    unsigned long here = 0, outside = 0, count = 0;
};

std::vector<mapped_users> user_map() {
    std::vector<mapped_users> result;
    std::ifstream file("/proc/self/uid_map");
    for (mapped_users line; file >> line.here >> line.outside >> line.count;)
        result.push_back(line);
    return result;
}

bool has_own_users() {
    const auto map = user_map();
    return !(map.size() == 1 && map[0].here == 0 && map[0].outside == 0 &&
             map[0].count == 0xffffffff);
}

/// The name of the engine; "unknown" if only namespaces show that this is a container.
std::string name_of_engine() {
    if (std::getenv("KUBERNETES_SERVICE_HOST"))
        return "kubernetes";
    if (access("/run/.containerenv", F_OK) == 0)
        return "podman";
    if (access("/.dockerenv", F_OK) == 0)
        return "docker";
    if (auto name = first_line("/run/systemd/container"); !name.empty())
        return name;
    if (auto name = variable_of_first_process(); !name.empty())
        return name;
    return tracing::has_threads_of_records() && !has_own_users() ? "" : "unknown";
}

/// The number that this user has outside of the user namespace.
unsigned long outer_user() {
    const unsigned long user = geteuid();
    for (const auto& [here, outside, count] : user_map())
        if (user >= here && user - here < count)
            return outside + user - here;
    return user;
}

/// Whether a file's owner is a user whom this namespace does not have.
bool is_of_stranger(const struct stat& file) {
    return has_own_users() &&
           std::to_string(file.st_uid) == first_line("/proc/sys/kernel/overflowuid");
}

} // namespace

const container_engine* engine() {
    static const std::string name = name_of_engine();
    if (name.empty())
        return nullptr;
    const auto* const found =
        std::find_if(std::begin(engines), std::end(engines),
                     [](const container_engine& each) { return name == each.name; });
    return found == std::end(engines) ? found - 1 : found;
}

std::string remedy_in_container(const container_engine& engine, int error,
                                const struct stat* node) {
    switch (error) {
    case ENOENT:
        return engine.device;
    case EPERM:
        // Of the device controller. Modes give EACCES.
        return fmt::format("the engine does not permit the device: {}", engine.device);
    case EACCES:
        if (node && is_of_stranger(*node))
            return fmt::format("the owner of the device is not in this user namespace; outside: "
                               "echo 'GROUP uid={}' >>/sys/kernel/tracing/user_events_groups",
                               outer_user());
        return fmt::format("the permissions of the device are those outside: echo 'GROUP uid={} "
                           "gid=GID mode=0660' >>/sys/kernel/tracing/user_events_groups; {}",
                           outer_user(), engine.users);
    case ENODEV:
    case ENXIO:
        return "the node is of a group or a module that was removed: start the container again";
    default:
        return {};
    }
}

finding container() {
    const container_engine* const here = engine();
    if (!here)
        return good("none");
    return good(has_own_users()
                    ? fmt::format("{}; this user is {} outside", here->name, outer_user())
                    : fmt::format("{}; the users are those outside", here->name));
}

} // namespace tool::diagnosis
