// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/groups.hpp"

#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "text/nearest.hpp"
#include "text/number.hpp"
#include "text/table.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace tool::tracing {

namespace {

namespace fs = std::filesystem;

/// The nodes of the groups, under their names: in a container, those that it was given.
constexpr char nodes[] = "/dev/user_events";

/// The number that the devices of all groups have in common; nothing without the module.
std::optional<unsigned> find_major() {
    // "240 user_events"
    std::ifstream devices("/proc/devices");
    for (std::string line; std::getline(devices, line);) {
        std::istringstream words(line);
        unsigned number = 0;
        std::string name;
        if (words >> number >> name && name == "user_events")
            return number;
    }
    return std::nullopt;
}

} // namespace

std::vector<group> groups() {
    // "web max=100 max_per_user=8192 [...] # events 3, busy 1, lost 0, [...]"
    std::vector<group> result;
    std::istringstream lines(instance::top().try_read("user_events_groups").value_or(""));
    for (std::string line; std::getline(lines, line);)
        result.push_back({line.substr(0, line.find(' ')), text::number_behind(line, " max="),
                          text::number_behind(line, " events "),
                          text::number_behind(line, " lost ")});
    return result;
}

std::vector<std::string> names_of_groups() {
    std::vector<std::string> result;
    std::error_code absent;
    for (const auto& node : fs::directory_iterator(nodes, absent))
        if (node.is_character_file(absent))
            result.push_back(node.path().filename());
    std::sort(result.begin(), result.end());
    return result;
}

void check_name_of_group(const std::string& name) {
    const auto is_odd = [](unsigned char character) {
        return !std::isalnum(character) && character != '_';
    };
    if (name.empty() || std::any_of(name.begin(), name.end(), is_odd))
        throw text::usage_error(fmt::format("\"{}\" is no name of a group", name),
                                "a name has letters, digits and _; '*' means all groups");
}

void require_group(const std::string& name) {
    const auto names = names_of_groups();
    if (names.empty())
        throw text::failure("the kernel has no groups of events", "only the module has them");
    if (std::find(names.begin(), names.end(), name) == names.end())
        throw text::failure(
            fmt::format("there is no group {}", name),
            text::did_you_mean(name, names,
                               fmt::format("the groups are: {}", text::joined(names))));
}

std::optional<std::string> group_of_device(const struct stat& file) {
    static const std::optional<unsigned> number = find_major();
    if (!S_ISCHR(file.st_mode) || !number || major(file.st_rdev) != *number)
        return std::nullopt;
    for (auto& name : names_of_groups()) {
        struct stat node {};
        if (stat(fmt::format("{}/{}", nodes, name).c_str(), &node) == 0 &&
            node.st_rdev == file.st_rdev)
            return std::move(name);
    }
    return "";
}

statuses::statuses() : known_{{recording::one_format_system, status()}} {}

const usage& statuses::of(const event_name& name) {
    const auto [known, is_new] = known_.try_emplace(name.system);
    if (is_new)
        known->second = status_of_group(name.system);
    return known->second[name.event];
}

} // namespace tool::tracing
