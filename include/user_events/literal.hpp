// SPDX-License-Identifier: MIT
// String literals as template arguments.
#pragma once

#include "version.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

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
