// SPDX-License-Identifier: GPL-2.0-or-later
// How severe a record is, if its payload says so.
#pragma once

#include "recording/record.hpp"
#include "text/output.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tool::recording {

enum class severity : std::uint8_t { none, verbose, information, warning, error, critical };

/// A level of a log.
struct log_level {
    std::string_view begin; // of its names: "err"
    std::string_view name;  // "error"
    recording::severity severity;
    int number; // OpenTelemetry's: 1 (trace) to 24 (fatal)
};

/// By number; nullptr for no level. Events with a field `logger` have the numbers of spdlog,
/// others those of syslog(), after which the library's log<> has one more.
const log_level* numbered_level(const event_type& event, std::uint64_t number) noexcept;
/// By the beginning of the text in upper or lower case; nullptr for no level.
const log_level* named_level(std::string_view text) noexcept;
/// The beginnings of the names of errors, and of what is more severe.
std::vector<std::string_view> names_of_errors();

/// Of the level in the header of EventHeader and .NET.
severity header_severity(std::uint8_t level) noexcept;

/// The field `level` or `severity`; nullptr if the event has none.
const field* level_field(const event_type& event) noexcept;

/// By the level in the header of EventHeader and .NET; by a text field `level` or `severity`; or by
/// the level of a log of the C++ library (that of syslog()) or of its sink for spdlog (spdlog's).
severity severity_of(const record& record);

/// How a terminal shows it; plain for what needs no notice.
text::style style_of(severity severity) noexcept;

} // namespace tool::recording
