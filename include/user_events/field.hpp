// SPDX-License-Identifier: MIT
// The fields of an event: which C++ type is recorded as which type of the kernel.
#pragma once

#include "command.hpp"
#include "copy.hpp"
#include "literal.hpp"
#include "text.hpp"
#include "version.h"

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace USER_EVENTS_NAMESPACE {

/// The type of a field for a floating-point number. The kernel has no such type, so the field's
/// type is `struct f64` or `struct f32`, and its bytes are the bits of the number. Tools that do
/// not know these names show the bits: `field<"load", bits<double>>`.
template <std::floating_point T>
struct bits {};

/// The type of a field for a trivially copyable structure, of which all bytes are recorded, the
/// padding included. Tag is the name of the type that tools show: `field<"from", structure<"point",
/// point>>` is the field `struct point from 8`.
template <literal Tag, typename T>
struct structure {};

/// The type of a field for text that is recorded as `__data_loc char[]`, not as `__rel_loc char[]`.
/// For tools that do not know the latter, such as bpftrace before 0.18.
struct data_loc_text {};

namespace detail {

/// How a type is recorded. Each specialization has
/// - type: the kernel's name of the type
/// - argument: the type of the argument that a program passes
/// - size: the size of the field in bytes; 4 for a location
/// - store(): writes a field of fixed size. Returns whether the value was cut
/// - data(): for a location, the bytes that it refers to
/// Types without a specialization cannot be recorded.
template <typename T>
struct recorded;

template <typename T>
concept recordable = requires {
    recorded<T>::size;
};

/// The bytes that a location refers to. Text is followed by a NUL, which `size` excludes.
struct bytes {
    const void* data;
    std::size_t size;
};

template <typename T>
concept located = recordable<T> && requires {
    recorded<T>::is_text;
};

/// Types that are recorded as another type.
template <typename From, typename To>
struct recorded_as : recorded<To> {
    using argument = From;
};

template <typename T>
inline constexpr bool is_number = std::integral<T> && sizeof(T) <= 8;

template <typename T>
requires is_number<T>
struct recorded<T> {
    using argument = T;
    static constexpr std::size_t size = sizeof(T);
    static constexpr std::string_view type = std::same_as<T, char>   ? "char"
                                             : std::same_as<T, bool> ? "u8"
                                             : std::is_signed_v<T>   ? (size == 1   ? "s8"
                                                                        : size == 2 ? "s16"
                                                                        : size == 4 ? "s32"
                                                                                    : "s64")
                                                                     : (size == 1   ? "u8"
                                                                        : size == 2 ? "u16"
                                                                        : size == 4 ? "u32"
                                                                                    : "u64");

    static bool store(void* to, T value) noexcept {
        std::memcpy(to, &value, sizeof(value));
        return false;
    }
};

template <typename T>
requires std::is_enum_v<T>
struct recorded<T> : recorded_as<T, std::underlying_type_t<T>> {
    static bool store(void* to, T value) noexcept {
        return recorded<std::underlying_type_t<T>>::store(
            to, static_cast<std::underlying_type_t<T>>(value));
    }
};

template <typename Number, typename Period>
requires is_number<Number>
struct recorded<std::chrono::duration<Number, Period>>
    : recorded_as<std::chrono::duration<Number, Period>, Number> {
    static bool store(void* to, std::chrono::duration<Number, Period> value) noexcept {
        return recorded<Number>::store(to, value.count());
    }
};

template <typename Clock, typename Duration>
requires recordable<Duration>
struct recorded<std::chrono::time_point<Clock, Duration>>
    : recorded_as<std::chrono::time_point<Clock, Duration>, Duration> {
    static bool store(void* to, std::chrono::time_point<Clock, Duration> value) noexcept {
        return recorded<Duration>::store(to, value.time_since_epoch());
    }
};

/// Pointers are recorded as numbers, in 8 bytes also by 32-bit programs.
template <typename T>
struct recorded<T*> : recorded_as<T*, std::uint64_t> {
    static bool store(void* to, T* value) noexcept {
        return recorded<std::uint64_t>::store(to, reinterpret_cast<std::uintptr_t>(value));
    }
};

template <typename Promise>
struct recorded<std::coroutine_handle<Promise>>
    : recorded_as<std::coroutine_handle<Promise>, std::uint64_t> {
    static bool store(void* to, std::coroutine_handle<Promise> value) noexcept {
        return recorded<void*>::store(to, value.address());
    }
};

template <std::floating_point T>
requires(sizeof(T) == 4 || sizeof(T) == 8) struct recorded<bits<T>> {
    using argument = T;
    static constexpr std::size_t size = sizeof(T);
    static constexpr std::string_view type = size == 4 ? "struct f32" : "struct f64";
    static constexpr bool has_size = true;

    static bool store(void* to, T value) noexcept {
        std::memcpy(to, &value, sizeof(value));
        return false;
    }
};

template <literal Tag>
struct structure_type {
    [[gnu::visibility("hidden")]] static constexpr auto text = [] {
        command_writer<Tag.view().size() + 7> writer;
        writer.add("struct ");
        writer.add(Tag.view());
        return writer;
    }();
};

template <literal Tag, typename T>
struct recorded<structure<Tag, T>> {
    static_assert(std::is_trivially_copyable_v<T> && std::is_class_v<T>,
                  "user_events: a recorded structure must be trivially copyable");
    static_assert(is_tag(Tag.view()),
                  "user_events: the tag of a structure consists of letters, digits and _");

    using argument = const T&;
    static constexpr std::size_t size = sizeof(T);
    static constexpr std::string_view type{structure_type<Tag>::text.text, Tag.view().size() + 7};
    static constexpr bool has_size = true;

    static bool store(void* to, const T& value) noexcept {
        std::memcpy(to, &value, sizeof(value));
        return false;
    }
};

/// Characters up to a NUL, or all but the last one.
template <std::size_t Size>
struct recorded<char[Size]> {
    static_assert(Size <= max_array, "user_events: a char[N] has at most 1024 bytes");

    using argument = text;
    static constexpr std::size_t size = Size;
    static constexpr std::string_view type = "char";
    static constexpr bool is_array = true;

    [[gnu::visibility("hidden")]] static bool store(void* to, text value) noexcept {
        const std::string_view whole = value.view();
        const std::size_t length =
            whole.size() < Size ? whole.size() : utf8_prefix(whole.data(), Size - 1);
        std::memset(to, 0, Size);
        copy(to, whole.data(), length);
        return length < whole.size();
    }
};

template <typename T>
inline constexpr bool is_byte = std::same_as<T, unsigned char> || std::same_as<T, std::byte>;

template <typename T, std::size_t Size>
requires is_byte<T>
struct recorded<std::array<T, Size>> {
    static_assert(Size > 0 && Size <= max_array,
                  "user_events: an array of bytes has 1 to 1024 of them");

    using argument = const std::array<T, Size>&;
    static constexpr std::size_t size = Size;
    static constexpr std::string_view type = "unsigned char";
    static constexpr bool is_array = true;

    static bool store(void* to, argument value) noexcept {
        std::memcpy(to, value.data(), Size);
        return false;
    }
};

struct recorded_text {
    using argument = text;
    static constexpr std::size_t size = 4;
    static constexpr std::string_view type = "__rel_loc char[]";
    static constexpr bool is_text = true;
    static constexpr bool is_relative = true;

    static bytes data(text value) noexcept {
        const std::string_view whole = value.view();
        return {whole.data(), whole.size()};
    }
};

template <>
struct recorded<std::string_view> : recorded_text {};
template <>
struct recorded<std::string> : recorded_text {};
template <>
struct recorded<const char*> : recorded_text {};
template <>
struct recorded<char*> : recorded_text {};
template <>
struct recorded<std::u8string_view> : recorded_text {};
template <>
struct recorded<std::u8string> : recorded_text {};

template <>
struct recorded<data_loc_text> : recorded_text {
    static constexpr std::string_view type = "__data_loc char[]";
    static constexpr bool is_relative = false;
};

template <typename T>
requires is_byte<std::remove_const_t<T>>
struct recorded<std::span<T>> {
    using argument = std::span<const std::remove_const_t<T>>;
    static constexpr std::size_t size = 4;
    static constexpr std::string_view type = "__rel_loc u8[]";
    static constexpr bool is_text = false;
    static constexpr bool is_relative = true;

    static bytes data(argument value) noexcept { return {value.data(), value.size()}; }
};

/// Absent is 0, or empty.
template <typename T>
requires recordable<T>
struct recorded<std::optional<T>> : recorded<T> {
    using argument = std::optional<std::decay_t<typename recorded<T>::argument>>;

    static bool store(void* to, const argument& value) noexcept requires(!located<T>) {
        if (value)
            return recorded<T>::store(to, *value);
        std::memset(to, 0, recorded<T>::size);
        return false;
    }
    static bytes data(const argument& value) noexcept requires located<T> {
        return value ? recorded<T>::data(*value) : bytes{"", 0};
    }
};

/// Whether an argument of type From may be passed for a field whose argument is of type To. The
/// language also converts floating-point numbers to integers, and long integers to short ones,
/// which would record other values. An int literal may be passed for a shorter field.
template <typename From, typename To>
inline constexpr bool is_accepted = std::convertible_to<From, To>;

template <typename From, std::integral To>
inline constexpr bool is_accepted<From, To> =
    std::convertible_to<From, To> && !std::floating_point<From> &&
    std::same_as<From, bool> == std::same_as<To, bool> &&
    (!std::integral<From> || sizeof(From) <= sizeof(To) || sizeof(From) <= sizeof(int));

template <typename From, std::floating_point To>
inline constexpr bool is_accepted<From, To> = std::convertible_to<From, To> &&
                                              (!std::floating_point<From> ||
                                               sizeof(From) <= sizeof(To));

template <typename From, typename To>
inline constexpr bool is_accepted<From, std::optional<To>> =
    is_accepted<From, To> || std::same_as<From, std::nullopt_t>;

template <typename From, typename To>
inline constexpr bool is_accepted<std::optional<From>, std::optional<To>> = is_accepted<From, To>;

/// Whether a value of type From stays the same as one of type To, except for its sign. For what a
/// function returns: the compiler cannot look at its value, as it can at a literal.
template <typename From, typename To>
inline constexpr bool is_kept = true;

template <typename From, std::integral To>
requires(std::integral<From> ||
         std::is_enum_v<From>) inline constexpr bool is_kept<From, To> = sizeof(From) <= sizeof(To);

template <std::integral From, std::floating_point To>
inline constexpr bool is_kept<From, To> =
    std::numeric_limits<From>::digits <= std::numeric_limits<To>::digits;

template <typename From, typename To>
inline constexpr bool is_kept<From, std::optional<To>> = is_kept<From, To>;

template <typename From, typename To>
inline constexpr bool is_kept<std::optional<From>, std::optional<To>> = is_kept<From, To>;

} // namespace detail

/// A field of an event.
///
/// \tparam Name what tools call the field; without white space and semicolons
/// \tparam T what a program passes, and how it is recorded:
///
/// | T                                               | recorded as                      |
/// |-------------------------------------------------|----------------------------------|
/// | an integer, bool                                | s8 to s64, u8 to u64, by its size|
/// | char                                            | char                             |
/// | an enumeration, std::byte                       | its underlying type              |
/// | std::chrono::duration, time_point               | its count                        |
/// | a pointer, std::coroutine_handle                | u64                              |
/// | char[N]                                         | char[N]; longer text is cut      |
/// | std::array of N bytes                           | unsigned char[N]                 |
/// | std::string_view, std::string, const char*,     | __rel_loc char[]                 |
/// | std::u8string_view                              |                                  |
/// | data_loc_text                                   | __data_loc char[]                |
/// | std::span of (const) bytes                      | __rel_loc u8[]                   |
/// | structure<"TAG", S>                             | struct TAG                       |
/// | bits<double>, bits<float>                       | struct f64, struct f32           |
/// | std::optional of one of these                   | the same; absent is 0 or empty   |
///
/// For text, a program may pass any of the string types, also a null pointer, which is empty text.
template <literal Name, typename T>
struct field {
    static_assert(!Name.view().empty(), "user_events: the name of a field is empty");
    static_assert(detail::is_field_name(Name.view()),
                  "user_events: the name of a field contains white space, a semicolon or a control "
                  "character");
    static_assert(!detail::is_common_field(Name.view()),
                  "user_events: the name of a field is one that tracing itself uses");
    static_assert(detail::recordable<T>,
                  "user_events: a field of this type cannot be recorded (see user_events::field)");

    using recorded = detail::recorded<T>;
    using argument = typename recorded::argument;
    static constexpr std::size_t size = recorded::size;
    static constexpr bool is_located = detail::located<T>;

    static constexpr std::string_view name() { return Name.view(); }

    /// Adds the text of the field to a command.
    template <typename Writer>
    static constexpr void describe(Writer& writer) {
        writer.add(recorded::type);
        if constexpr (requires { recorded::is_array; }) {
            writer.add("[");
            writer.add_number(size);
            writer.add("]");
        }
        writer.add(" ");
        writer.add(Name.view());
        if constexpr (requires { recorded::has_size; }) {
            writer.add(" ");
            writer.add_number(size);
        }
    }
};

} // namespace USER_EVENTS_NAMESPACE
