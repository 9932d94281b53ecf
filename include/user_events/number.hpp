// SPDX-License-Identifier: MIT
// The numbers that fields may be: the only table of them in the library.
#pragma once

#include "version.h"

#include <cstdint>
#include <string_view>
#include <type_traits>

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
/// Types of fields: also in kernel/format/format.c and the tool's recording/event_type.cpp.
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
