// SPDX-License-Identifier: MIT
// Puts a record together on the stack: the index, the fixed fields, and what locations refer to.
#pragma once

#include "command.hpp"
#include "copy.hpp"
#include "field.hpp"
#include "registration.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>

namespace USER_EVENTS_NAMESPACE::detail {

/// What locations refer to is copied if it has at most this size; otherwise writev() takes it from
/// where it is. That costs the kernel more than copying less.
inline constexpr std::size_t most_copied = 1024;

/// The most fields with locations.
inline constexpr std::size_t max_located = 100;

/// What comes before the payload of a record, in bytes: in what a program writes, the index; in
/// the buffer, the common fields of tracing.
inline constexpr std::size_t index_size = 4, common_size = 8;

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
/// max_payload bytes. For the arguments see write_located().
[[gnu::noinline, gnu::visibility("hidden")]] inline int
write_parts(const registration& event, std::byte* record, std::size_t fixed,
            const location_of_field* locations, bytes* data, std::size_t count) noexcept {
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

/// Completes a record with the data that its locations refer to, and writes it. `record` has the
/// fixed fields after the index, of `fixed` bytes, and after them room for most_copied more.
/// Returns what registration::write() does.
template <std::size_t Most>
[[gnu::always_inline]] inline int
write_located(const registration& event, std::byte* record, std::size_t fixed,
              const location_of_field* locations, const bytes (&data)[Most],
              std::size_t count) noexcept {
    std::size_t located = 0;
    for (std::size_t i = 0; i < count; i++)
        located += locations[i].whole(data[i].size);
    if (located > most_copied || fixed + located > max_payload) [[unlikely]] {
        // A copy, so that the compiler keeps the other one in registers.
        bytes in_memory[Most];
        std::copy_n(data, count, in_memory);
        return write_parts(event, record, fixed, locations, in_memory, count);
    }
    std::byte* const payload = record + index_size;
    std::size_t end = fixed;
    for (std::size_t i = 0; i < count; i++) {
        locations[i].store(payload, end, data[i].size);
        copy(payload + end, data[i].data, data[i].size);
        end += data[i].size;
        if (locations[i].is_text)
            payload[end++] = std::byte{0};
    }
    return event.write(record, index_size + end);
}

} // namespace USER_EVENTS_NAMESPACE::detail
