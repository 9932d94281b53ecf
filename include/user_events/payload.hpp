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

/// A record with more bytes than this after its fixed fields is written by writev(), without
/// copying these bytes. That costs the kernel more than copying fewer.
inline constexpr std::size_t most_copied = 1024;

/// What comes before the payload of a record, in bytes: in what a program writes, the index; in
/// the buffer, the common fields of tracing.
inline constexpr std::size_t index_size = 4, common_size = 8;

/// The data of one location.
struct located_data {
    bytes content;
    /// The place of the location in the payload.
    std::uint16_t place;
    bool is_text;
    bool is_relative;

    std::size_t whole_size() const noexcept { return content.size + is_text; }

    /// Writes the location of data that are at this offset in the payload.
    void store_location(std::byte* payload, std::size_t offset) const noexcept {
        const std::size_t distance = is_relative ? offset - place - 4 : offset + common_size;
        const std::uint32_t location =
            static_cast<std::uint32_t>(whole_size() << 16) | static_cast<std::uint32_t>(distance);
        std::memcpy(payload + place, &location, sizeof(location));
    }
};

/// Writes a record with much data. `record` has the index and the fixed fields, of `fixed` bytes.
/// Cuts data so that the payload has at most max_payload bytes.
[[gnu::noinline]] inline int write_long(const registration& event, std::byte* record,
                                        std::size_t fixed, located_data* data,
                                        std::size_t count) noexcept {
    constexpr std::size_t most_parts = 1 + 2 * 128;
    iovec parts[most_parts];
    int used = 0;
    parts[used++] = {record, index_size + fixed};
    std::size_t end = fixed;
    // Each text needs a NUL.
    std::size_t room = max_payload - fixed;
    for (std::size_t i = 0; i < count; i++)
        room -= data[i].is_text;
    for (std::size_t i = 0; i < count; i++) {
        bytes& content = data[i].content;
        if (content.size > room) {
            content.size = data[i].is_text ? utf8_prefix(content.data, room) : room;
            event.count_cut();
        }
        data[i].store_location(record + index_size, end);
        room -= content.size;
        end += data[i].whole_size();
        if (content.size)
            parts[used++] = {const_cast<void*>(content.data), content.size};
        if (data[i].is_text)
            parts[used++] = {const_cast<char*>(""), 1};
    }
    return event.write(parts, used);
}

} // namespace user_events::detail
