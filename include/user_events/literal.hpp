// SPDX-License-Identifier: MIT
#pragma once

#include "version.h"

#include <cstddef>
#include <string_view>

namespace USER_EVENTS_NAMESPACE {

/// A string literal as a template argument: `event<"order_placed">`. Programs do not name this
/// type.
template <std::size_t Size>
struct literal {
    char characters[Size];

    // NOLINTNEXTLINE(google-explicit-constructor): the literal is written as it is.
    constexpr literal(const char (&text)[Size]) {
        for (std::size_t i = 0; i < Size; i++)
            characters[i] = text[i];
    }

    /// The text without its NUL.
    constexpr std::string_view view() const { return {characters, Size - 1}; }
};

} // namespace USER_EVENTS_NAMESPACE
