// SPDX-License-Identifier: MIT
// The values that records are put together from. There are few of these types, so that events with
// other names and other C++ types of fields share the code.
#pragma once

#include "copy.hpp"
#include "text.hpp"
#include "version.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace USER_EVENTS_NAMESPACE::detail {

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

} // namespace USER_EVENTS_NAMESPACE::detail
