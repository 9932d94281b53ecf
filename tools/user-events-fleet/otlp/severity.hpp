// SPDX-License-Identifier: GPL-2.0-or-later
// The severity of a record that has a field `level` or `severity`.
#pragma once

#include "recording/record.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tool::otlp {

struct severity {
    /// OpenTelemetry's: 1 (trace) to 24 (fatal).
    int number;
    std::string text;
};

/// By recording::numbered_level() or named_level(). Nothing if there is no such field or level.
std::optional<severity> severity_of(const recording::record& record);

/// The severity of a level of EventHeader and .NET events. Nothing for 0 and levels without a name.
std::optional<severity> severity_of_level(std::uint8_t level);

} // namespace tool::otlp
