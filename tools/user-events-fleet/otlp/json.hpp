// SPDX-License-Identifier: GPL-2.0-or-later
// Requests as JSON.
#pragma once

#include "otlp/queue.hpp"

#include <string>

namespace tool::otlp {

/// Returns a serialized request as OTLP has it in JSON.
std::string to_json(signal which, const std::string& serialized);

} // namespace tool::otlp
