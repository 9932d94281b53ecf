// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/quantity.hpp"

#include "text/errors.hpp"
#include "text/number.hpp"

#include <charconv>
#include <fmt/format.h>
#include <iterator>

namespace tool::text {

namespace {

struct unit {
    std::string_view name;
    double factor;
};

/// A number above zero, with a unit. `is_for` names the quantity in messages.
template <std::size_t N>
double number_with_unit(std::string_view text, const unit (&units)[N], double most,
                        std::string_view is_for, std::string_view examples) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    const std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (error == std::errc())
        for (const unit& unit : units)
            if (name == unit.name && number > 0 && number * unit.factor <= most)
                return number * unit.factor;
    throw usage_error(fmt::format("\"{}\" is no {}: write it as {}", text, is_for, examples));
}

} // namespace

double to_seconds(std::string_view text) {
    static constexpr unit units[] = {{"", 1},   {"s", 1},    {"ms", 1e-3}, {"us", 1e-6},
                                     {"m", 60}, {"min", 60}, {"h", 3600},  {"d", 86400}};
    return number_with_unit(text, units, 1e9, "duration", "10s, 1.5s, 200ms, 5m or 1h");
}

std::uint64_t to_bytes(std::string_view text) {
    static constexpr unit units[] = {{"", 1},       {"k", 0x1p10},  {"K", 0x1p10}, {"kB", 0x1p10},
                                     {"M", 0x1p20}, {"MB", 0x1p20}, {"G", 0x1p30}, {"GB", 0x1p30}};
    return static_cast<std::uint64_t>(
        number_with_unit(text, units, 0x1p62, "size", "4096, 64k, 10M or 2G"));
}

std::uint64_t to_count(std::string_view text) {
    const auto number = to_number<std::uint64_t>(text);
    if (!number || *number > 1'000'000'000)
        throw usage_error(fmt::format("\"{}\" is no number from 0 to 1000000000", text));
    return *number;
}

std::string from_bytes(std::uint64_t bytes) {
    static constexpr const char* units[] = {"kB", "MB", "GB", "TB"};
    if (bytes < 1024)
        return fmt::format("{} B", bytes);
    double number = static_cast<double>(bytes) / 1024;
    std::size_t i = 0;
    for (; number >= 1000 && i + 1 < std::size(units); i++)
        number /= 1024;
    return fmt::format("{:.{}f} {}", number, number < 10 ? 1 : 0, units[i]);
}

int to_process(std::string_view text) {
    const auto number = to_number<int>(text);
    if (!number || *number < 0)
        throw usage_error(fmt::format("\"{}\" is no number of a process", text));
    return *number;
}

} // namespace tool::text
