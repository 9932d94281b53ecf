// SPDX-License-Identifier: MIT
// Puts a record together on the stack: the index, the fixed fields, and what locations refer to.
#pragma once

#include "command.hpp"
#include "registration.hpp"
#include "text.hpp"
#include "version.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <sys/uio.h>
#include <type_traits>
#include <utility>

namespace USER_EVENTS_NAMESPACE::detail {

/// The type of a parameter: a value for which no general register is left is passed in a vector
/// register. On the stack it would cost a disabled event two instructions with clang 14, which
/// moves the stack pointer in the first instruction of a function, not where the stack is needed.
template <typename Value, bool InVector>
struct carrier {
    using type = Value;
};

#if defined __clang__ && defined __x86_64__ && defined __SSE2__

inline constexpr bool has_vectors = true;
typedef std::uint64_t two_words __attribute__((vector_size(16))); // NOLINT(modernize-use-using)

template <typename Value>
struct carrier<Value, true> {
    struct type {
        [[gnu::always_inline]] type(const Value& from) noexcept { // NOLINT(*-explicit-*)
            std::uint64_t words[2] = {};
            std::memcpy(words, &from, sizeof(from));
            both = two_words{words[0], words[1]};
        }
        [[gnu::always_inline]] operator Value() const noexcept { // NOLINT(*-explicit-*)
            struct bytes {
                std::byte of[sizeof(Value)];
            } copy;
            const std::uint64_t words[2] = {both[0], both[1]};
            std::memcpy(&copy, words, sizeof(copy));
            return __builtin_bit_cast(Value, copy);
        }

        two_words both;
    };
};

#else

inline constexpr bool has_vectors = false;

#endif

/// Tells which of some parameters go into vector registers, after others that take `used` of the
/// six general ones.
template <typename... Values>
constexpr auto in_vectors(std::size_t used) {
    struct {
        bool of[sizeof...(Values) + 1] = {};
    } result;
    [[maybe_unused]] std::size_t at = 0;
    [[maybe_unused]] const auto add = [&](std::size_t words, bool can_be) {
        result.of[at] = has_vectors && can_be && used + words > 6;
        used += can_be && !result.of[at] ? words : 0;
        at++;
    };
    (add((sizeof(Values) + 7) / 8, !std::is_floating_point_v<Values> &&
                                       std::is_trivially_copyable_v<Values> &&
                                       sizeof(Values) <= 16),
     ...);
    return result;
}

/// g++ needs no memory for what a function object captures, if the function is inline. clang does,
/// and reserves the memory also for an event that is not enabled. A small temporary function object
/// is passed in registers. A function object with a name is not copied, because its state may
/// change. One that makes numbers is inlined: clang then needs no memory for it, either.
template <typename Make>
inline constexpr bool is_passed_on =
#ifdef __clang__
    !std::is_reference_v<Make> && std::is_trivially_copyable_v<Make> && sizeof(Make) <= 16 &&
    !std::is_trivially_destructible_v<std::remove_cvref_t<decltype(std::declval<Make>()())>>;
#else
    false;
#endif

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

/// What comes before the payload of a record, in bytes: in what a program writes, the index; in
/// the buffer, the common fields of tracing.
inline constexpr std::size_t index_size = 4, common_size = 8;

/// The bytes that a location refers to. Text is followed by a NUL, which `size` excludes.
struct bytes {
    const void* data = nullptr;
    std::size_t size = 0;
};

/// The elements of an array, of Unit bytes each.
template <std::size_t Unit>
struct elements {
    const void* data = nullptr;
    std::size_t size = 0;
};

/// Text with a `__data_loc`, not a `__rel_loc`.
struct far_text {
    text from;
};

/// A `char[Size]`.
template <std::size_t Size>
struct characters {
    text from;

    /// The length of what fits, with a NUL after it.
    static std::size_t length_of(std::string_view whole) noexcept {
        return whole.size() < Size ? whole.size() : utf8_prefix(whole.data(), Size - 1);
    }
};

/// All bytes of an object; null is zeros.
template <std::size_t Size>
struct object {
    const void* from = nullptr;
};

/// The members of an object; null is zeros and empty text.
template <typename Object, typename... Members>
struct group {
    const Object* from = nullptr;
};

template <typename Value>
inline constexpr bool is_group = false;
template <typename Object, typename... Members>
inline constexpr bool is_group<group<Object, Members...>> = true;

/// How the data of a field are referred to, known from its type.
struct location_of_field {
    /// The place of the location in the payload.
    std::uint16_t place;
    /// The size of an element in bytes.
    std::uint8_t unit;
    bool is_text : 1;
    bool is_relative : 1;

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

/// Where the next field goes.
struct cursor {
    std::byte* payload;
    bytes* data;
    std::size_t place = 0;
    bool is_cut = false;
};

/// How a value is put into a record. Each specialization has
/// - size: the size of the field in bytes; 4 for a location
/// - located: how many locations it has
/// - locate(): describes them
/// - add(): writes the value, or for a location, tells what it refers to
template <typename Value>
struct stored;

/// A value that the record holds itself, not by a location.
template <std::size_t Size>
struct stored_in_place {
    static constexpr std::size_t size = Size, located = 0;
    static constexpr void locate(location_of_field*&, std::size_t& place) { place += Size; }
};

template <typename T>
requires std::is_arithmetic_v<T>
struct stored<T> : stored_in_place<sizeof(T)> {
    [[gnu::always_inline]] static void add(cursor& to, T value) noexcept {
        std::memcpy(to.payload + to.place, &value, sizeof(value));
        to.place += sizeof(value);
    }
};

template <std::size_t Size>
struct stored<object<Size>> : stored_in_place<Size> {
    [[gnu::always_inline]] static void add(cursor& to, object<Size> value) noexcept {
        if (value.from)
            std::memcpy(to.payload + to.place, value.from, Size);
        else
            std::memset(to.payload + to.place, 0, Size);
        to.place += Size;
    }
};

template <std::size_t Size>
struct stored<characters<Size>> : stored_in_place<Size> {
    [[gnu::visibility("hidden")]] static void add(cursor& to, characters<Size> value) noexcept {
        const std::string_view whole = value.from.view();
        const std::size_t length = value.length_of(whole);
        std::memset(to.payload + to.place, 0, Size);
        copy(to.payload + to.place, whole.data(), length);
        to.is_cut |= length < whole.size();
        to.place += Size;
    }
};

template <std::size_t Unit, bool IsText, bool IsRelative>
struct stored_location {
    static constexpr std::size_t size = 4, located = 1;
    static constexpr bool is_relative = IsRelative;
    static constexpr void locate(location_of_field*& next, std::size_t& place) {
        *next++ = {static_cast<std::uint16_t>(place), Unit, IsText, IsRelative};
        place += size;
    }
    [[gnu::always_inline]] static void add_location(cursor& to, bytes value) noexcept {
        *to.data++ = value;
        to.place += size;
    }
};

template <std::size_t Unit>
struct stored<elements<Unit>> : stored_location<Unit, false, true> {
    [[gnu::always_inline]] static void add(cursor& to, elements<Unit> value) noexcept {
        stored::add_location(to, {value.data, value.size});
    }
};

template <>
struct stored<text> : stored_location<1, true, true> {
    [[gnu::always_inline]] static void add(cursor& to, const text& value) noexcept {
        const std::string_view whole = value.view();
        add_location(to, {whole.data(), whole.size()});
    }
};

template <>
struct stored<far_text> : stored_location<1, true, false> {
    [[gnu::always_inline]] static void add(cursor& to, const far_text& value) noexcept {
        const std::string_view whole = value.from.view();
        add_location(to, {whole.data(), whole.size()});
    }
};

template <typename Object, typename... Members>
struct stored<group<Object, Members...>> {
    static constexpr std::size_t size = (0 + ... + stored<typename Members::value>::size);
    static constexpr std::size_t located = (0 + ... + stored<typename Members::value>::located);
    static constexpr void locate(location_of_field*& next, std::size_t& place) {
        (stored<typename Members::value>::locate(next, place), ...);
    }
    [[gnu::always_inline]] static void add(cursor& to, group<Object, Members...> value) {
        (stored<typename Members::value>::add(to, value.from ? Members::make(*value.from)
                                                             : typename Members::value()),
         ...);
    }
};

/// Whether the length of a value is known.
inline bool is_measured(const text& value) noexcept {
    return value.is_measured();
}
inline bool is_measured(const far_text& value) noexcept {
    return value.from.is_measured();
}
template <std::size_t Size>
bool is_measured(const characters<Size>& value) noexcept {
    return value.from.is_measured();
}
template <typename T>
constexpr bool is_measured(const T&) noexcept {
    return true;
}

/// The same value, with its length.
inline text measured(const text& value) noexcept {
    return value.view();
}
inline far_text measured(const far_text& value) noexcept {
    return {value.from.view()};
}
template <std::size_t Size>
characters<Size> measured(const characters<Size>& value) noexcept {
    return {value.from.view()};
}
template <typename T>
const T& measured(const T& value) noexcept {
    return value;
}

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
