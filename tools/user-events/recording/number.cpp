// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/number.hpp"

#include <bit>
#include <cstring>

namespace tool::recording {

std::uint64_t read_number(const std::byte* from, std::uint32_t size, bool is_signed,
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

void write_number(std::span<std::byte> to, std::uint64_t number, bool is_big_endian) noexcept {
    for (std::size_t i = 0; i < to.size(); i++)
        to[i] = static_cast<std::byte>(number >> 8 * (is_big_endian ? to.size() - 1 - i : i));
}

} // namespace tool::recording
