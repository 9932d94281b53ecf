// SPDX-License-Identifier: GPL-2.0-or-later
// Integers of any width and byte order, as recordings and records have them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace tool::recording {

using bytes = std::span<const std::byte>;

/// The number in so many bytes, 8 at most. Each record has several: where the size is known, this
/// is one load.
inline std::uint64_t read_number(const std::byte* from, std::uint32_t size, bool is_signed,
                                 bool is_big_endian) noexcept {
    std::uint64_t bits = 0;
    if (!is_big_endian && std::endian::native == std::endian::little)
        std::memcpy(&bits, from, size);
    else
        for (std::uint32_t i = 0; i < size; i++)
            bits |= std::to_integer<std::uint64_t>(from[i])
                    << 8 * (is_big_endian ? size - 1 - i : i);
    const unsigned unused = 64 - 8 * size;
    return is_signed && size > 0
               ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused)
               : bits;
}

/// Writes as many of the number's low bytes as there is room for, 8 at most.
void write_number(std::span<std::byte> to, std::uint64_t number, bool is_big_endian) noexcept;

} // namespace tool::recording
