// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/nearest.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <utility>

namespace tool::text {

namespace {

/// How many characters have to be added, removed or replaced.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 0; i < a.size(); i++) {
        std::size_t before = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); j++) {
            const std::size_t replaced = before + (a[i] != b[j]);
            before = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, before + 1});
        }
    }
    return row.back();
}

} // namespace

std::string did_you_mean(std::string_view mistyped, const std::vector<std::string>& names,
                         std::string_view rest) {
    // Not more than a third of it is wrong.
    std::size_t least = mistyped.size() / 3 + 2;
    std::string result(rest);
    for (const auto& name : names) {
        const std::size_t found = distance(mistyped, name);
        if (found >= least)
            continue;
        least = found;
        result = fmt::format("did you mean \"{}\"?{}{}", name, rest.empty() ? "" : " ", rest);
    }
    return result;
}

} // namespace tool::text
