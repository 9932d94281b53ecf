// SPDX-License-Identifier: GPL-2.0-or-later
// How a number has changed, in one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tool::text {

/// A character for each of the last numbers, as high as its part of the largest one of these; only
/// that of 0 is empty. Spaces fill the line before the first number. Without UTF-8, characters of
/// ASCII stand for eight heights.
std::string sparkline(std::span<const std::uint64_t> numbers, std::size_t columns, bool is_utf8);

} // namespace tool::text
