// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/thread_list.hpp"

#include "recording/appended_list.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

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

} // namespace tool::recording
