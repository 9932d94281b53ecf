// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/number.hpp"

namespace tool::recording {

void write_number(std::span<std::byte> to, std::uint64_t number, bool is_big_endian) noexcept {
    for (std::size_t i = 0; i < to.size(); i++)
        to[i] = static_cast<std::byte>(number >> 8 * (is_big_endian ? to.size() - 1 - i : i));
}

} // namespace tool::recording
