// SPDX-License-Identifier: MIT
// Puts a record together on the stack: the index, the fixed fields, and what locations refer to.
#pragma once

#include "carrier.hpp"
#include "command.hpp"
#include "copy.hpp"
#include "registration.hpp"
#include "stored.hpp"
#include "text.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <sys/uio.h>
#include <utility>

namespace USER_EVENTS_NAMESPACE::detail {

/// What locations refer to is copied if it has at most this size; otherwise writev() takes it from
/// where it is. For less data, copying costs less than what writev() costs the kernel.
inline constexpr std::size_t most_copied = 1024;

/// The most fields with locations.
inline constexpr std::size_t max_located = 100;

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
            content.size = locations[i].is_text ? utf8_prefix(content.data, room)
                                                : room / locations[i].unit * locations[i].unit;
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
        for (std::size_t i = 0; i < count; i++)
            in_memory[i] = data[i];
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

/// Records values of these types. Events share this code, whatever the names of their fields.
template <typename... Values>
struct recorder {
    /// The sizes of all fixed fields and locations.
    static constexpr std::size_t size = (0 + ... + stored<Values>::size);
    static constexpr std::size_t located = (0 + ... + stored<Values>::located);

    /// The members of a structure are converted here, by a class of the program perhaps.
    static constexpr bool is_safe = !(is_group<Values> || ...);

    struct location_list {
        location_of_field of[located + 1];
    };
    [[gnu::visibility("hidden")]] static constexpr location_list locations = [] {
        location_list made{};
        [[maybe_unused]] location_of_field* next = made.of;
        [[maybe_unused]] std::size_t place = 0;
        (stored<Values>::locate(next, place), ...);
        return made;
    }();
    /// The size of the fields if the text and arrays are empty: each text has a NUL.
    static constexpr std::size_t least_payload = [] {
        std::size_t sum = size;
        for (const location_of_field& each : locations.of)
            sum += each.whole(0);
        return sum;
    }();

    [[gnu::always_inline]] static void record(const registration& event,
                                              const Values&... values) noexcept(is_safe) {
        out_of_line(std::index_sequence_for<Values...>(), event, values...);
    }

private:
    static constexpr auto in_vector = in_vectors<Values...>(1);

    template <std::size_t... At>
    [[gnu::always_inline]] static void out_of_line(std::index_sequence<At...>,
                                                   const registration& event,
                                                   const Values&... values) noexcept(is_safe) {
        carried<typename carrier<Values, in_vector.of[At]>::type...>::record(event, values...);
    }

    /// A class, because clang exports the member templates of templates.
    template <typename... Carriers>
    struct carried {
        /// This function is out of line, so that the code around an event stays small. If the
        /// lengths of the texts are known, it calls nothing and need not save registers.
        [[gnu::noinline, gnu::visibility("hidden")]] static void
        record(const registration& event, Carriers... values) noexcept(is_safe) {
            record_here(event, static_cast<Values>(values)...);
        }
    };

    [[gnu::always_inline]] static void record_here(const registration& event,
                                                   Values... values) noexcept(is_safe) {
        if (!(is_measured(values) && ...)) [[unlikely]]
            return measure_and_record(event, values...);
        std::byte buffer[index_size + size + (located ? most_copied : 0)];
        bytes data[located + 1];
        cursor to{buffer + index_size, data};
        (stored<Values>::add(to, values), ...);
        if (to.is_cut)
            event.count_cut();
        if constexpr (located > 0)
            write_located(event, buffer, size, locations.of, data, located);
        else
            event.write(buffer, sizeof(buffer));
    }

    [[gnu::noinline, gnu::visibility("hidden")]] static void
    measure_and_record(const registration& event, Values... values) noexcept(is_safe) {
        record(event, measured(values)...);
    }
};

} // namespace USER_EVENTS_NAMESPACE::detail
