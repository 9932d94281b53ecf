// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/scope_options.hpp"

#include "text/errors.hpp"
#include "text/glob.hpp"
#include "text/number.hpp"
#include "text/quantity.hpp"
#include "tracing/rule.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <pwd.h>
#include <sstream>
#include <string_view>

namespace tool {

namespace {

/// The longest name of a process that the kernel keeps.
constexpr std::size_t comm_max = 15;

/// "7,8" and "9" are three values.
std::vector<std::string> split(const std::vector<std::string>& lists) {
    std::vector<std::string> result;
    for (const auto& list : lists) {
        std::istringstream values(list + ",");
        for (std::string value; std::getline(values, value, ',');)
            result.push_back(value);
    }
    return result;
}

std::vector<std::string> to_pids(const std::vector<std::string>& lists) {
    auto result = split(lists);
    // Without zeros in front.
    for (auto& id : result)
        id = std::to_string(text::to_process(id));
    return result;
}

std::vector<std::string> to_uids(const std::vector<std::string>& lists) {
    auto result = split(lists);
    for (auto& id : result) {
        if (text::to_number<std::uint32_t>(id))
            continue;
        const passwd* const user = id.empty() ? nullptr : getpwnam(id.c_str());
        if (!user)
            throw text::usage_error(fmt::format("\"{}\" is no user", id),
                                    "--uid takes a number or the name of a user");
        id = std::to_string(user->pw_uid);
    }
    return result;
}

/// The value of an option that is given at most once; empty without it.
std::string only_value(const char* option, const std::vector<std::string>& values) {
    if (values.size() > 1)
        throw text::usage_error(fmt::format("{} is given twice", option),
                                "a glob can match several programs");
    if (!values.empty() && values[0].empty())
        throw text::usage_error(fmt::format("nothing behind {}", option));
    return values.empty() ? std::string() : values[0];
}

/// A value has no spaces in a rule; `?` matches them, too.
std::string without_spaces(const char* option, const std::string& glob) {
    if (glob.find_first_of(tracing::spaces) == glob.npos)
        return glob;
    if (glob.find('[') != glob.npos)
        throw text::usage_error(fmt::format("{} has a space and brackets", option),
                                "write ? for the space, or for the brackets");
    std::string result;
    for (const char character : glob) {
        const bool is_space = tracing::spaces.find(character) != glob.npos;
        if (is_space && result.ends_with('\\'))
            result.pop_back();
        result += is_space ? '?' : character;
    }
    return result;
}

std::string to_comm(const std::vector<std::string>& values) {
    const std::string glob = only_value("--comm", values);
    if (glob.size() > comm_max && glob.find_first_of(text::glob_characters) == glob.npos)
        throw text::usage_error(
            fmt::format("no process has the name {}: the kernel keeps {} characters", glob,
                        comm_max),
            fmt::format("--comm '{}', or --exe '*/{}'", glob.substr(0, comm_max), glob));
    return without_spaces("--comm", glob);
}

std::string to_exe(const std::vector<std::string>& values) {
    const std::string glob = only_value("--exe", values);
    if (!glob.empty() && glob[0] != '/' &&
        text::glob_characters.find(glob[0]) == text::glob_characters.npos)
        throw text::usage_error(fmt::format("no program has the path {}", glob),
                                fmt::format("a path begins with /: --exe '*/{}'", glob));
    return without_spaces("--exe", glob);
}

/// The path below the mount point is accepted with it, and with a slash at the end.
std::string to_cgroup(const std::vector<std::string>& values) {
    std::string path = only_value("--cgroup", values);
    if (path.empty())
        return path;
    const std::string& mount = tracing::cgroup_mount_point();
    if (!mount.empty() && (path == mount || path.starts_with(mount + "/")))
        path.erase(0, mount.size());
    while (path.ends_with('/'))
        path.pop_back();
    if (path.empty())
        return "/";
    if (path[0] != '/' || path.find_first_of(tracing::spaces) != path.npos)
        throw text::usage_error(
            fmt::format("\"{}\" is no path of a control group for a rule", path),
            "write it from the root and without spaces: /system.slice/shop.service");
    return path;
}

} // namespace

void scope_options::declare(arguments& with) {
    with.option("-p,--pid", "PID", pids_, "only this process; can be repeated");
    with.option("--comm", "GLOB", comms_, "only processes with such a name");
    with.option("--exe", "PATH", exes_, "only programs with such a path, a glob");
    with.option("--cgroup", "GROUP", cgroups_, "only programs in this control group or below it");
    with.option("--uid", "UID", uids_, "only programs of this user; can be repeated");
    with.flag(
        "--children", children_,
        "with --pid, children that it will have, too; slows down other programs with these events");
}

tracing::scope scope_options::read() const {
    tracing::scope result{to_pids(pids_), to_uids(uids_),      to_comm(comms_),
                          to_exe(exes_),  to_cgroup(cgroups_), children_};
    if (children_ && (result.pids.empty() || result.is_for_rules_only()))
        throw text::usage_error("--children is for --pid alone",
                                "--cgroup has all processes of a service");
    return result;
}

} // namespace tool
