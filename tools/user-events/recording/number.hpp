// SPDX-License-Identifier: GPL-2.0-or-later
// Integers of any width and byte order, as recordings and records have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tool::recording {

using bytes = std::span<const std::byte>;

/// The number in so many bytes, 8 at most.
std::uint64_t read_number(const std::byte* from, std::uint32_t size, bool is_signed,
                          bool is_big_endian) noexcept;

/// Writes as many of the number's low bytes as there is room for, 8 at most.
void write_number(std::span<std::byte> to, std::uint64_t number, bool is_big_endian) noexcept;

} // namespace tool::recording
