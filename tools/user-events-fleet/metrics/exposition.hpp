// SPDX-License-Identifier: GPL-2.0-or-later
// The formats in which Prometheus reads metrics.
#pragma once

#include "metrics/counting.hpp"

#include <string>
#include <string_view>

namespace tool::metrics {

enum class format { text, open_metrics };

/// The format that a reader asks for with its header Accept.
format format_for(std::string_view accept);

const char* content_type(format of);

std::string to_exposition(const sample& from, format as);

} // namespace tool::metrics
