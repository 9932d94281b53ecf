// SPDX-License-Identifier: MIT
#pragma once

#include "version.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace USER_EVENTS_NAMESPACE::detail {

/// Copies bytes, in blocks that may overlap. For the sizes of usual strings, a call of memcpy()
/// costs more, and all events would have to save registers for it.
[[gnu::always_inline]] inline void copy(void* destination, const void* source,
                                        std::size_t size) noexcept {
    auto* const to = static_cast<std::byte*>(destination);
    const auto* const from = static_cast<const std::byte*>(source);
    const auto copy_block = [=]<std::size_t Size>(std::array<std::byte, Size> block,
                                                  std::size_t at) {
        std::memcpy(&block, from + at, Size);
        std::memcpy(to + at, &block, Size);
    };
    const auto copy_ends = [=](auto block) {
        copy_block(block, 0);
        copy_block(block, size - sizeof(block));
    };
    const auto copy_64 = [=](std::size_t at) {
        using block = std::array<std::byte, 16>;
        copy_block(block(), at);
        copy_block(block(), at + 16);
        copy_block(block(), at + 32);
        copy_block(block(), at + 48);
    };
    if (size > 64) {
        for (std::size_t at = 0; at < size - 64; at += 64)
            copy_64(at);
        copy_64(size - 64);
    } else if (size >= 16) {
        copy_ends(std::array<std::byte, 16>());
        if (size > 32) {
            copy_block(std::array<std::byte, 16>(), 16);
            copy_block(std::array<std::byte, 16>(), size - 32);
        }
    } else if (size >= 8) {
        copy_ends(std::array<std::byte, 8>());
    } else if (size >= 4) {
        copy_ends(std::array<std::byte, 4>());
    } else if (size > 0) {
        copy_ends(std::array<std::byte, 1>());
        copy_block(std::array<std::byte, 1>(), size / 2);
    }
}

} // namespace USER_EVENTS_NAMESPACE::detail
