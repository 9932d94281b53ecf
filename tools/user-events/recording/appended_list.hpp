// SPDX-License-Identifier: GPL-2.0-or-later
// Lists for which trace.dat has no place. `record` and `snapshot` append them to the statistics of
// the CPUs, which the format has as text and `trace-cmd report --stat` prints.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace tool::recording {

/// Calls the function for each line behind the heading, if that is there, until one returns false.
template <typename Take>
void for_each_line(std::string_view statistics, std::string_view heading, Take take) {
    const auto at = statistics.find(heading);
    std::string_view rest =
        statistics.substr(at == statistics.npos ? statistics.size() : at + heading.size());
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!take(line))
            break;
    }
}

/// Takes a number and the space behind it.
template <typename Number>
bool take_number(std::string_view& line, Number& number, int base = 10) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, base);
    if (error != std::errc() || end == line.data() + line.size() || *end != ' ')
        return false;
    line.remove_prefix(static_cast<std::size_t>(end - line.data()) + 1);
    return true;
}

} // namespace tool::recording
