// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/severity.hpp"

#include <algorithm>
#include <iterator>
#include <strings.h>

namespace tool::recording {

namespace {

/// Also in export/page/severity.js, and the levels of the library's log.hpp.
constexpr log_level levels[] = {
    // Those of syslog() and the one of log<>, by their numbers.
    {"emerg", "emergency", severity::critical, 24},
    {"alert", "alert", severity::critical, 22},
    {"crit", "critical", severity::critical, 21},
    {"err", "error", severity::error, 17},
    {"warn", "warning", severity::warning, 13},
    {"notice", "notice", severity::information, 10},
    {"info", "info", severity::information, 9},
    {"debug", "debug", severity::verbose, 5},
    {"trace", "trace", severity::verbose, 1},
    // Others.
    {"fatal", "fatal", severity::critical, 21},
    {"panic", "panic", severity::critical, 24},
    {"verbose", "verbose", severity::verbose, 5},
};
constexpr std::uint64_t nr_syslog = 9;
/// From trace to critical.
constexpr std::uint64_t of_spdlog[] = {8, 7, 6, 4, 3, 2};

constexpr severity of_header[] = {severity::none,    severity::critical,    severity::error,
                                  severity::warning, severity::information, severity::verbose};

/// Whether these are the fields of the library's log<> or of its sink for spdlog.
/// Also severeTest() in export/page/severity.js.
bool is_log(const event_type& event) noexcept {
    static constexpr std::string_view others[] = {"line", "text", "function", "file"};
    return std::all_of(std::begin(others), std::end(others),
                       [&](std::string_view name) { return event.find(name); });
}

} // namespace

const log_level* numbered_level(const event_type& event, std::uint64_t number) noexcept {
    if (event.find("logger"))
        return number < std::size(of_spdlog) ? &levels[of_spdlog[number]] : nullptr;
    return number < nr_syslog ? &levels[number] : nullptr;
}

const log_level* named_level(std::string_view text) noexcept {
    const auto* const found =
        std::find_if(std::begin(levels), std::end(levels), [text](const log_level& level) {
            return text.size() >= level.begin.size() &&
                   strncasecmp(text.data(), level.begin.data(), level.begin.size()) == 0;
        });
    return found == std::end(levels) ? nullptr : found;
}

std::vector<std::string_view> names_of_errors() {
    std::vector<std::string_view> result;
    for (const log_level& level : levels)
        if (level.severity >= severity::error)
            result.push_back(level.begin);
    return result;
}

severity header_severity(std::uint8_t level) noexcept {
    return level < std::size(of_header) ? of_header[level] : severity::none;
}

const field* level_field(const event_type& event) noexcept {
    const field* const level = event.find("level");
    return level ? level : event.find("severity");
}

severity severity_of(const record& record) {
    if (record.event->is_described)
        return header_severity(to_shown_event(record).event.level);
    const field* const field = level_field(*record.event);
    if (!field)
        return severity::none;
    const value value = read(*field, record.data);
    const log_level* const level = value.kind == kind::text ? named_level(value.text())
                                   : value.kind == kind::natural && is_log(*record.event)
                                       ? numbered_level(*record.event, value.natural)
                                       : nullptr;
    return level ? level->severity : severity::none;
}

text::style style_of(severity severity) noexcept {
    static constexpr text::style styles[] = {text::style::plain, text::style::dim,
                                             text::style::plain, text::style::yellow,
                                             text::style::red,   text::style::bold_red};
    return styles[static_cast<int>(severity)];
}

} // namespace tool::recording
