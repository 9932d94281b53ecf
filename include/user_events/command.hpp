// SPDX-License-Identifier: MIT
// The rules for names and commands. They are used at compile time by event.hpp, and at run time by
// dynamic_event.hpp.
#pragma once

#include "file.h"
#include "version.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace USER_EVENTS_NAMESPACE {

namespace detail {

/// Many characters in one number: the linker's names have 6 characters for each element of an
/// array, and 2.4 for each byte of a number.
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 packed; // NOLINT(modernize-use-using)
#else
using packed = std::uint64_t;
#endif

/// The characters of one word. Behind the text is a 1, so that its length is known.
constexpr packed pack(std::string_view text, std::size_t word) {
    packed result = 0;
    for (std::size_t i = 0; i < sizeof(packed); i++) {
        const std::size_t at = word * sizeof(packed) + i;
        const auto byte =
            static_cast<unsigned char>(at < text.size() ? text[at] : at == text.size());
        result |= static_cast<packed>(byte) << 8 * i;
    }
    return result;
}

} // namespace detail

/// A string literal as a template argument: `event<"order_placed">`. Programs do not name this
/// type.
template <std::size_t Words>
struct literal {
    detail::packed words[Words];

    // NOLINTNEXTLINE(google-explicit-constructor): the literal is written as it is.
    template <std::size_t Size>
    constexpr literal(const char (&text)[Size]) : words{} {
        for (std::size_t i = 0; i < Words; i++)
            words[i] = detail::pack({text, Size - 1}, i);
    }
    constexpr detail::packed word(std::size_t at) const { return words[at]; }
};
/// The specialization for one word, which fits most names. It has no array, because linker names
/// spell arrays out.
template <>
struct literal<1> {
    detail::packed words;

    template <std::size_t Size>
    constexpr literal(const char (&text)[Size]) // NOLINT(google-explicit-constructor)
        : words(detail::pack({text, Size - 1}, 0)) {}
    constexpr detail::packed word(std::size_t) const { return words; }
};
template <std::size_t Size, std::size_t Words = (Size - 1) / sizeof(detail::packed) + 1>
literal(const char (&)[Size]) -> literal<Words>;

namespace detail {

/// The characters of a literal as an array. Compilers show this type in messages.
template <std::size_t Size>
struct quoted {
    char characters[Size];
};

constexpr char character_of(packed word, std::size_t at) {
    return static_cast<char>(static_cast<unsigned char>(word >> 8 * at));
}

template <std::size_t Words>
constexpr std::size_t size_of(const literal<Words>& of) {
    std::size_t at = sizeof(packed);
    while (!character_of(of.word(Words - 1), at - 1))
        at--;
    return (Words - 1) * sizeof(packed) + at - 1;
}

template <literal Literal, std::size_t Size = size_of(Literal) + 1>
constexpr auto unpack() {
    quoted<Size> result{};
    for (std::size_t i = 0; i + 1 < Size; i++)
        result.characters[i] = character_of(Literal.word(i / sizeof(packed)), i % sizeof(packed));
    return result;
}

template <literal Literal>
[[gnu::visibility("hidden")]] inline constexpr auto unpacked = unpack<Literal>();

/// The text of a literal. The literal itself is read by the compiler only: clang 14 does not align
/// it as its type needs.
template <literal Literal>
constexpr std::string_view view_of() {
    return {unpacked<Literal>.characters, sizeof(unpacked<Literal>.characters) - 1};
}

} // namespace detail
} // namespace USER_EVENTS_NAMESPACE

namespace USER_EVENTS_NAMESPACE::detail {

struct number_names {
    /// The name of the type, as an array's element has it and as tools show it.
    std::string_view name;
    /// What a command has before the name of a field.
    std::string_view field = name;
};

/// A type of numbers in records, and the C++ type with these values.
template <typename T>
struct number_type : number_names {
    using type = T;
};

/// Calls a function with each number_type, in the order of field_type, until it returns true. The
/// kernel has no type for floating-point numbers: a structure has the bits.
template <typename Function>
[[gnu::visibility("hidden")]] constexpr bool find_number(Function is_found) {
    return is_found(number_type<std::int8_t>{{"s8"}}) ||
           is_found(number_type<std::uint8_t>{{"u8"}}) ||
           is_found(number_type<std::int16_t>{{"s16"}}) ||
           is_found(number_type<std::uint16_t>{{"u16"}}) ||
           is_found(number_type<std::int32_t>{{"s32"}}) ||
           is_found(number_type<std::uint32_t>{{"u32"}}) ||
           is_found(number_type<std::int64_t>{{"s64"}}) ||
           is_found(number_type<std::uint64_t>{{"u64"}}) ||
           is_found(number_type<float>{{"f32", "struct f32"}}) ||
           is_found(number_type<double>{{"f64", "struct f64"}});
}

/// The names of the type that is recorded of a number, bool or std::byte: the one of the same size
/// and kind.
template <typename T>
consteval number_names names_of_number() {
    number_names found;
    find_number([&](auto each) {
        using type = typename decltype(each)::type;
        const bool is_same = sizeof(type) == sizeof(T) &&
                             std::is_signed_v<type> == std::is_signed_v<T> &&
                             std::is_floating_point_v<type> == std::is_floating_point_v<T>;
        if (is_same)
            found = each;
        return is_same;
    });
    return found;
}

} // namespace USER_EVENTS_NAMESPACE::detail

namespace USER_EVENTS_NAMESPACE {

/// The longest payload, in bytes: what ftrace can record in a page of 4096 bytes. Longer strings
/// are cut.
inline constexpr std::size_t max_payload = 4064;

/// The longest `char[N]`, in bytes.
inline constexpr std::size_t max_array = 1024;

/// The longest command, in bytes: the event's name and its fields as text.
inline constexpr std::size_t max_command = USER_EVENTS_COMMAND_MAX;

namespace detail {

/// The longest name of an event's directory before Linux 6.6. The kernel appends a dot and a number
/// to a name with several formats; this allows for eight digits.
inline constexpr std::size_t max_name = 255, max_suffix = 9;

/// U+0080 to U+009F are control characters, too: 0xc2, and a byte below 0xa0.
[[gnu::visibility("hidden")]] constexpr bool has_space_or_control(std::string_view text) {
    unsigned char before = 0;
    for (const char character : text) {
        const auto byte = static_cast<unsigned char>(character);
        if (byte <= ' ' || byte == 0x7f || (before == 0xc2 && byte >= 0x80 && byte < 0xa0))
            return true;
        before = byte;
    }
    return false;
}

/// Each event has a directory of its name in tracefs.
[[gnu::visibility("hidden")]] constexpr bool is_event_name(std::string_view name) {
    return !name.empty() && name != "." && name != ".." && name != "enable" && name != "filter" &&
           name.find_first_of("/:;") == name.npos && !has_space_or_control(name);
}

/// Tools parse the print format of the event, in which the names of fields occur.
[[gnu::visibility("hidden")]] constexpr bool is_field_name(std::string_view name) {
    return !name.empty() && name.find(';') == name.npos && !has_space_or_control(name);
}

/// std::string_view::find() of g++ 12 is not constant here with -fsanitize=undefined.
[[gnu::visibility("hidden")]] constexpr bool contains(std::string_view text,
                                                      std::string_view part) {
    for (; text.size() >= part.size(); text.remove_prefix(1))
        if (text.substr(0, part.size()) == part)
            return true;
    return false;
}

/// The tag of a structure: letters, digits and underscores.
[[gnu::visibility("hidden")]] constexpr bool is_tag(std::string_view tag) {
    for (const char character : tag)
        if (!(character == '_' || (character >= '0' && character <= '9') ||
              (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z')))
            return false;
    return !tag.empty() && !contains(tag, "cpumask_t") && !contains(tag, "__data_loc") &&
           !contains(tag, "__rel_loc");
}

/// Whether filters and histograms would take it for a field that tracing itself adds to records.
[[gnu::visibility("hidden")]] constexpr bool is_common_field(std::string_view name) {
    return name.starts_with("common_");
}

/// Puts the text of a command together. Counts what does not fit.
template <std::size_t Capacity, std::size_t Fields>
struct command_writer {
    char text[Capacity + 1] = {};
    std::size_t size = 0;
    /// Where the names of the fields are.
    struct {
        std::uint16_t start, size;
    } names[Fields + 1] = {};
    std::size_t fields = 0;

    constexpr void add(std::string_view part) {
        for (std::size_t i = 0; i < part.size() && size + i < Capacity; i++)
            text[size + i] = part[i];
        size += part.size();
    }
    [[gnu::visibility("hidden")]] constexpr void add_number(std::size_t number) {
        if (number >= 10)
            add_number(number / 10);
        const char digit = static_cast<char>('0' + number % 10);
        add({&digit, 1});
    }

    constexpr void begin_field() { add(fields++ == 0 ? " " : ";"); }
    constexpr void begin_name() { begin_ = size; }
    constexpr void end_name() {
        if (fields <= Fields)
            names[fields - 1] = {static_cast<std::uint16_t>(begin_),
                                 static_cast<std::uint16_t>(size - begin_)};
    }

    constexpr bool fits() const { return size <= Capacity; }
    /// The name of a field of a command that fits.
    constexpr std::string_view name(std::size_t field) const {
        return {text + names[field].start, names[field].size};
    }
    /// Whether two fields have the same name.
    constexpr bool has_duplicate() const {
        for (std::size_t i = 1; i < fields; i++)
            for (std::size_t j = 0; j < i; j++)
                if (name(i) == name(j))
                    return true;
        return false;
    }

private:
    std::size_t begin_ = 0;
};

} // namespace detail
} // namespace USER_EVENTS_NAMESPACE
