// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/machine.hpp"

#include "recording/appended_list.hpp"

#include <fmt/format.h>
#include <sstream>

namespace tool::recording {

namespace {

constexpr std::string_view heading = "\nboot, clock at first, clock at last:\n";

} // namespace

std::string to_text(const machine& machine) {
    if (machine.boot.empty())
        return {};
    return fmt::format("{}{} {} {}\n", heading, machine.boot, machine.first_offset,
                       machine.last_offset);
}

std::optional<machine> to_machine(std::string_view statistics) {
    std::optional<machine> result;
    for_each_line(statistics, heading, [&](std::string_view line) {
        std::istringstream words{std::string(line)};
        machine found;
        if (words >> found.boot >> found.first_offset >> found.last_offset)
            result = found;
        return false;
    });
    return result;
}

} // namespace tool::recording
