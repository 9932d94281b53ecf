// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/severity.hpp"

#include "eventheader/words.hpp"

#include <cctype>
#include <iterator>
#include <string_view>

namespace tool::otlp {

using recording::kind;

namespace {

struct level {
    std::string_view name;
    int number;
};

// By their numbers. The library's log has a level after those of syslog.
constexpr level of_syslog[] = {{"emergency", 24}, {"alert", 22},   {"critical", 21},
                               {"error", 17},     {"warning", 13}, {"notice", 10},
                               {"info", 9},       {"debug", 5},    {"trace", 1}};
constexpr level of_spdlog[] = {{"trace", 1},    {"debug", 5},  {"info", 9},
                               {"warning", 13}, {"error", 17}, {"critical", 21}};
constexpr level by_name[] = {{"trace", 1},      {"debug", 5},  {"info", 9},   {"notice", 10},
                             {"warn", 13},      {"error", 17}, {"err", 17},   {"crit", 21},
                             {"fatal", 21},     {"alert", 22}, {"emerg", 24}, {"panic", 24},
                             {"information", 9}};

template <std::size_t Size>
std::optional<severity> numbered(const level (&levels)[Size], std::uint64_t number) {
    if (number >= Size)
        return {};
    return severity{levels[number].number, std::string(levels[number].name)};
}

/// "WARNING" begins with "warn".
std::optional<severity> named(std::string_view text) {
    std::string name;
    for (const char each : text)
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    for (const level& each : by_name)
        if (name.starts_with(each.name))
            return severity{each.number, std::string(text)};
    return {};
}

/// From 1 on.
constexpr int of_levels[] = {21, 17, 13, 9, 5};

} // namespace

std::optional<severity> severity_of_level(std::uint8_t level) {
    if (level == 0 || level > std::size(of_levels))
        return {};
    return severity{of_levels[level - 1], std::string(eventheader::level_name(level))};
}

std::optional<severity> severity_of(const recording::record& record) {
    const recording::field* field = record.event->find("level");
    if (!field)
        field = record.event->find("severity");
    if (!field)
        return {};
    const recording::value value = read(*field, record.data);
    if (value.kind == kind::text)
        return named(value.text());
    if (value.kind != kind::integer && value.kind != kind::natural)
        return {};
    return record.event->find("logger") ? numbered(of_spdlog, value.natural)
                                        : numbered(of_syslog, value.natural);
}

} // namespace tool::otlp
