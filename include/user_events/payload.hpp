// SPDX-License-Identifier: MIT
// Puts a record together on the stack: the index, the fixed fields, and what locations refer to.
#pragma once

#include "command.hpp"
#include "field.hpp"
#include "registration.hpp"
#include "text.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>

namespace user_events::detail {

/// The longest data that an event copies itself.
inline constexpr std::size_t most_inline = 64;

/// A longer payload is written by writev(), without copying its data. That costs the kernel more
/// than copying less.
inline constexpr std::size_t most_copied = 1024;

/// The most fields with locations.
inline constexpr std::size_t max_located = 100;

/// What comes before the payload of a record, in bytes: in what a program writes, the index; in
/// the buffer, the common fields of tracing.
inline constexpr std::size_t index_size = 4, common_size = 8;

/// Copies at most most_inline bytes, in overlapping blocks of one size. A call of memcpy() would
/// cost twice as much, and all events would have to save registers for it.
[[gnu::always_inline]] inline void copy_inline(std::byte* to, const void* data,
                                               std::size_t size) noexcept {
    const auto* const from = static_cast<const std::byte*>(data);
    const auto copy_block = [=]<std::size_t Size>(std::array<std::byte, Size> block,
                                                  std::size_t at) {
        std::memcpy(&block, from + at, Size);
        std::memcpy(to + at, &block, Size);
    };
    const auto copy_ends = [=](auto block) {
        copy_block(block, 0);
        copy_block(block, size - sizeof(block));
    };
    if (size >= 16) {
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

/// How the data of a field are referred to, known from its type.
struct location_of_field {
    /// The place of the location in the payload.
    std::uint16_t place;
    bool is_text;
    bool is_relative;

    /// The size of the data in the record: a text has a NUL.
    constexpr std::size_t whole(std::size_t size) const noexcept { return size + is_text; }

    /// Writes the location of data of this size at this offset in the payload.
    [[gnu::always_inline]] void store(std::byte* payload, std::size_t offset,
                                      std::size_t size) const noexcept {
        const std::size_t distance = is_relative ? offset - place - 4 : offset + common_size;
        const std::uint32_t location =
            static_cast<std::uint32_t>(whole(size) << 16) | static_cast<std::uint32_t>(distance);
        std::memcpy(payload + place, &location, sizeof(location));
    }
};

/// Writes a record with much data by writev(). Cuts data so that the payload has at most
/// max_payload bytes. For the arguments see write_long().
[[gnu::noinline]] inline int write_parts(const registration& event, std::byte* record,
                                         std::size_t fixed, const location_of_field* locations,
                                         bytes* data, std::size_t count) noexcept {
    iovec parts[1 + 2 * max_located];
    int used = 0;
    parts[used++] = {record, index_size + fixed};
    std::size_t end = fixed;
    // Each text needs a NUL.
    std::size_t room = max_payload - fixed;
    for (std::size_t i = 0; i < count; i++)
        room -= locations[i].is_text;
    for (std::size_t i = 0; i < count; i++) {
        bytes& content = data[i];
        if (content.size > room) {
            content.size = locations[i].is_text ? utf8_prefix(content.data, room) : room;
            event.count_cut();
        }
        locations[i].store(record + index_size, end, content.size);
        room -= content.size;
        end += locations[i].whole(content.size);
        if (content.size)
            parts[used++] = {const_cast<void*>(content.data), content.size};
        if (locations[i].is_text)
            parts[used++] = {const_cast<char*>(""), 1};
    }
    return event.write(parts, used);
}

/// Writes a record with longer data than copy_inline() copies. `record` has the fixed fields after
/// the index, of `fixed` bytes.
[[gnu::noinline]] inline int write_long(const registration& event, std::byte* record,
                                        std::size_t fixed, const location_of_field* locations,
                                        bytes* data, std::size_t count) noexcept {
    std::size_t end = fixed;
    for (std::size_t i = 0; i < count; i++)
        end += locations[i].whole(data[i].size);
    if (end > most_copied)
        return write_parts(event, record, fixed, locations, data, count);
    std::byte whole[index_size + most_copied];
    std::byte* const payload = whole + index_size;
    std::memcpy(payload, record + index_size, fixed);
    end = fixed;
    for (std::size_t i = 0; i < count; i++) {
        locations[i].store(payload, end, data[i].size);
        if (data[i].size > 0)
            std::memcpy(payload + end, data[i].data, data[i].size);
        end += data[i].size;
        if (locations[i].is_text)
            payload[end++] = std::byte{0};
    }
    return event.write(whole, index_size + end);
}

} // namespace user_events::detail
