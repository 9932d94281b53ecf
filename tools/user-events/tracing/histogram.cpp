// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/histogram.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <sstream>

namespace tool::tracing {

namespace {

constexpr std::string_view info = "# trigger info: ";
constexpr std::string_view hits = "hitcount:";
constexpr std::string_view dropped = "    Dropped: ";

/// The kernel aligns with spaces.
std::string without_padding(std::string_view text) {
    std::string result;
    for (const char character : text)
        if (character != ' ' || (!result.empty() && result.back() != ' '))
            result += character;
    while (result.ends_with(' '))
        result.pop_back();
    return result;
}

/// `{ item: tea, cents: 12 } hitcount: 4  cents: 48`. Texts may have any characters, so the last
/// places count.
void add_bucket(histogram& to, const std::string& line) {
    const auto count = line.rfind(hits);
    const auto end = line.rfind('}', count);
    if (!line.starts_with("{ ") || count == line.npos || end == line.npos)
        return;
    char* rest = nullptr;
    const std::uint64_t number = std::strtoull(line.c_str() + count + hits.size(), &rest, 10);
    to.buckets.push_back({without_padding(std::string_view(line).substr(2, end - 2)), number,
                          without_padding(rest)});
}

} // namespace

std::vector<histogram> to_histograms(const std::string& text) {
    std::vector<histogram> result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(info))
            result.push_back({line.substr(info.size()), {}});
        else if (result.empty())
            continue;
        else if (line.starts_with(dropped))
            result.back().dropped = std::strtoull(line.c_str() + dropped.size(), nullptr, 10);
        else
            add_bucket(result.back(), line);
    }
    return result;
}

std::uint64_t number_of(std::string_view name, std::string_view text) {
    const std::string wanted = fmt::format("{}: ", name);
    for (auto at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1))
        // Not the end of another name.
        if (at == 0 || text[at - 1] == ' ')
            return std::strtoull(std::string(text.substr(at + wanted.size())).c_str(), nullptr, 10);
    return 0;
}

} // namespace tool::tracing
