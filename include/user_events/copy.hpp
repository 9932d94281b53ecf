// SPDX-License-Identifier: MIT
#pragma once

#include "version.h"

#include <cstddef>
#include <cstring>

namespace USER_EVENTS_NAMESPACE::detail {

template <std::size_t Size>
struct block {
    std::byte content[Size];
};

/// Copies bytes, in blocks, of which the last ones may overlap those before. For the sizes of usual
/// strings, a call of memcpy() costs more, and all events would have to save registers for it.
[[gnu::always_inline]] inline void copy(void* destination, const void* source,
                                        std::size_t size) noexcept {
    auto* const to = static_cast<std::byte*>(destination);
    const auto* const from = static_cast<const std::byte*>(source);
    const auto copy_block = [=]<std::size_t Size>(block<Size> content, std::size_t at) {
        std::memcpy(&content, from + at, Size);
        std::memcpy(to + at, &content, Size);
    };
    const auto copy_ends = [=](auto content) {
        copy_block(content, 0);
        copy_block(content, size - sizeof(content));
    };
    const auto copy_64 = [=](std::size_t at) {
        copy_block(block<16>(), at);
        copy_block(block<16>(), at + 16);
        copy_block(block<16>(), at + 32);
        copy_block(block<16>(), at + 48);
    };
    if (size > 64) {
        for (std::size_t at = 0; at < size - 64; at += 64)
            copy_64(at);
        copy_64(size - 64);
    } else if (size >= 16) {
        copy_ends(block<16>());
        if (size > 32) {
            copy_block(block<16>(), 16);
            copy_block(block<16>(), size - 32);
        }
    } else if (size >= 8) {
        copy_ends(block<8>());
    } else if (size >= 4) {
        copy_ends(block<4>());
    } else if (size > 0) {
        copy_ends(block<1>());
        copy_block(block<1>(), size / 2);
    }
}

} // namespace USER_EVENTS_NAMESPACE::detail
