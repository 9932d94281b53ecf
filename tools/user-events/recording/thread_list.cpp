// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/thread_list.hpp"

#include "recording/appended_list.hpp"
#include "text/number.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <sstream>

namespace tool::recording {

namespace {

constexpr std::string_view heading = "\nthread process name:\n";

} // namespace

std::string to_text(const thread_list& list) {
    std::string result(heading);
    for (const auto& [thread, entry] : list) {
        std::string name = entry.name;
        std::replace(name.begin(), name.end(), '\n', ' ');
        fmt::format_to(std::back_inserter(result), "{} {} {}\n", thread, entry.process, name);
    }
    return result;
}

thread_list to_thread_list(std::string_view statistics) {
    thread_list result;
    for_each_line(statistics, heading, [&](std::string_view line) {
        int thread = 0, process = 0;
        if (!take_number(line, thread) || !take_number(line, process))
            return false;
        result[thread] = {process, std::string(line)};
        return true;
    });
    return result;
}

std::unordered_map<int, std::string> to_saved_names(const std::string& text) {
    std::unordered_map<int, std::string> result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto space = std::min(line.find(' '), line.size());
        const auto thread = text::to_number<int>(std::string_view(line).substr(0, space));
        // The kernel saves no name for the idle task, 0.
        if (!thread || *thread == 0 || space == line.size())
            continue;
        const std::string name = line.substr(space + 1);
        const auto [at, is_new] = result.try_emplace(*thread, name);
        if (!is_new && at->second != name)
            at->second = unknown_task;
    }
    return result;
}

} // namespace tool::recording
