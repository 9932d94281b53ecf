// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/sparkline.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tool::text {

std::string sparkline(std::span<const std::uint64_t> numbers, std::size_t columns, bool is_utf8) {
    static constexpr std::string_view blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr std::string_view plain[] = {" ", "_", ".", ",", "-", "=", "+", "*", "#"};
    const auto last = numbers.last(std::min(numbers.size(), columns));
    const std::uint64_t largest = last.empty() ? 0 : *std::ranges::max_element(last);
    std::string result(columns - last.size(), ' ');
    for (const std::uint64_t number : last) {
        const double part = number ? static_cast<double>(number) / static_cast<double>(largest) : 0;
        result += (is_utf8 ? blocks : plain)[static_cast<std::size_t>(std::ceil(8 * part))];
    }
    return result;
}

} // namespace tool::text
