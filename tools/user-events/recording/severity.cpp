// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/severity.hpp"

#include "text/output.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <strings.h>

namespace tool::recording {

namespace {

constexpr severity of_header[] = {severity::none,    severity::critical,    severity::error,
                                  severity::warning, severity::information, severity::verbose};
constexpr severity of_syslog[] = {severity::critical,    severity::critical, severity::critical,
                                  severity::error,       severity::warning,  severity::information,
                                  severity::information, severity::verbose,  severity::verbose};

struct word {
    std::string_view text;
    recording::severity severity;
};
constexpr word words[] = {
    {"alert", severity::critical},     {"critical", severity::critical},
    {"debug", severity::verbose},      {"emergency", severity::critical},
    {"err", severity::error},          {"error", severity::error},
    {"fatal", severity::critical},     {"info", severity::information},
    {"notice", severity::information}, {"information", severity::information},
    {"trace", severity::verbose},      {"verbose", severity::verbose},
    {"warn", severity::warning},       {"warning", severity::warning},
};

severity of_word(std::string_view text) noexcept {
    for (const word& word : words)
        if (word.text.size() == text.size() &&
            strncasecmp(word.text.data(), text.data(), text.size()) == 0)
            return word.severity;
    return severity::none;
}

template <std::size_t Size>
severity of_number(const severity (&table)[Size], std::uint64_t number) noexcept {
    return number < Size ? table[number] : severity::none;
}

/// Whether these are the fields of the library's log<>.
bool is_log(const event_type& event) noexcept {
    static constexpr std::string_view others[] = {"line", "text", "function", "file"};
    return std::all_of(std::begin(others), std::end(others),
                       [&](std::string_view name) { return event.find(name); });
}

} // namespace

severity severity_of(const record& record) {
    if (record.event->is_described)
        return of_number(of_header, to_shown_event(record).event.level);
    const field* level = record.event->find("level");
    if (!level)
        level = record.event->find("severity");
    if (!level)
        return severity::none;
    const value value = read(*level, record.data);
    if (value.kind == kind::text)
        return of_word(value.text());
    return value.kind == kind::natural && is_log(*record.event)
               ? of_number(of_syslog, value.natural)
               : severity::none;
}

text::style style_of(severity severity) noexcept {
    static constexpr text::style styles[] = {text::style::plain, text::style::dim,
                                             text::style::plain, text::style::yellow,
                                             text::style::red,   text::style::bold_red};
    return styles[static_cast<int>(severity)];
}

} // namespace tool::recording
