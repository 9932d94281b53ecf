// SPDX-License-Identifier: GPL-2.0-or-later
// Durations and sizes, as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tool::text {

/// `90`, `1.5s`, `200ms`, `5m`, `1h`. Throws usage_error for anything else.
double to_seconds(std::string_view text);

/// `4096`, `64k`, `10M`, `2G`. Throws usage_error for anything else.
std::uint64_t to_bytes(std::string_view text);

/// A number of things, up to a thousand millions. Throws usage_error for anything else.
std::uint64_t to_count(std::string_view text);

/// "12.3 MB"
std::string from_bytes(std::uint64_t bytes);

/// The number of a process. Throws usage_error.
int to_process(std::string_view text);

} // namespace tool::text
