// SPDX-License-Identifier: MIT
#pragma once

#include "version.h"

#include <concepts>
#include <cstdint>

namespace USER_EVENTS_NAMESPACE {

namespace detail {

/// std::source_location, and classes like it.
template <typename T>
concept location_like = requires(const T& at) {
    { at.file_name() } -> std::convertible_to<const char*>;
    { at.function_name() } -> std::convertible_to<const char*>;
    { at.line() } -> std::convertible_to<std::uint32_t>;
};

} // namespace detail

/// A place in the source; by default, the one of the call. A std::source_location converts to it.
/// (clang 14 does not have that class.)
struct place {
    const char* file;
    const char* function;
    std::uint32_t line;

    constexpr place(const char* in_file, const char* in_function, std::uint32_t at_line) noexcept
        : file(in_file), function(in_function), line(at_line) {}
    template <detail::location_like T>
    // NOLINTNEXTLINE(google-explicit-constructor): programs pass what they have.
    constexpr place(const T& at) : place(at.file_name(), at.function_name(), at.line()) {}

    static constexpr place here(const char* file = __builtin_FILE(),
                                const char* function = __builtin_FUNCTION(),
                                std::uint32_t line = __builtin_LINE()) noexcept {
        return {file, function, line};
    }
};

} // namespace USER_EVENTS_NAMESPACE
