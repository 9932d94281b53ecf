// SPDX-License-Identifier: GPL-2.0-or-later
// Recordings that were killed or have failed: record --recover.
#pragma once

#include "tracing/observation.hpp"

#include <functional>
#include <string>

namespace tool {

/// Finishes a file whose process was killed, and removes what it has left.
void recover(const std::string& output);

/// Calls a function. If it fails, the instance is left with its records, for --recover.
void call_or_leave(const std::string& output, tracing::observation& observation,
                   const std::function<void()>& function);

} // namespace tool
