// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/sampled_list.hpp"

#include "recording/appended_list.hpp"
#include "text/number.hpp"

#include <fmt/format.h>
#include <iterator>

namespace tool::recording {

namespace {

constexpr std::string_view heading = "\nsystem event one record of:\n";

} // namespace

std::string to_text(const sampled_list& list) {
    std::string result(list.empty() ? "" : heading);
    for (const auto& [event, number] : list)
        fmt::format_to(std::back_inserter(result), "{} {} {}\n", event.first, event.second, number);
    return result;
}

sampled_list to_sampled_list(std::string_view statistics) {
    sampled_list result;
    for_each_line(statistics, heading, [&](std::string_view line) {
        const auto name = line.find(' '), number = line.rfind(' ');
        if (name == line.npos || name == number)
            return false;
        const auto value = text::to_number<std::uint32_t>(line.substr(number + 1));
        if (value.value_or(0) == 0)
            return false;
        result[{std::string(line.substr(0, name)),
                std::string(line.substr(name + 1, number - name - 1))}] = *value;
        return true;
    });
    return result;
}

} // namespace tool::recording
