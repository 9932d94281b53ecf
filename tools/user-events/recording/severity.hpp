// SPDX-License-Identifier: GPL-2.0-or-later
// How severe a record is, if its payload says so.
#pragma once

#include "recording/record.hpp"
#include "text/output.hpp"

#include <cstdint>

namespace tool::recording {

enum class severity : std::uint8_t { none, verbose, information, warning, error, critical };

/// By the level in the header of EventHeader and .NET; by a text field `level` or `severity`; or by
/// the level of a log of the C++ library, which is that of syslog().
severity severity_of(const record& record);

/// How a terminal shows it; plain for what needs no notice.
text::style style_of(severity severity) noexcept;

} // namespace tool::recording
