// SPDX-License-Identifier: MIT
// The fields of an event: which C++ type is recorded as which type of the kernel.
//
// Types of the standard library are recognized by their members. So this header needs none of the
// standard library's headers that declare them, and types like them are recorded alike.
#pragma once

#include "command.hpp"
#include "payload.hpp"
#include "text.hpp"
#include "version.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace USER_EVENTS_NAMESPACE {

/// The type of a field for a trivially copyable structure, of which all bytes are recorded, the
/// padding included. Tag is the name of the type that tools show: `field<"from", structure<"point",
/// point>>` is the field `struct point from 8`.
template <literal Tag, typename T>
struct structure {};

/// The type of a field for text that is recorded as `__data_loc char[]`, not as `__rel_loc char[]`.
/// For tools that do not know the latter, such as bpftrace 0.27 and Perfetto.
struct data_loc_text {};

namespace detail {

template <auto Pointer>
struct member_of;
template <typename Class, typename T, T Class::*Pointer>
struct member_of<Pointer> {
    using object = Class;
    using type = std::remove_cv_t<T>;
};

} // namespace detail

/// One member of a structure, for members<>. T is the type of the field: by default the type of the
/// member itself; else another one that can hold each value of the member, but for its sign.
template <literal Name, auto Pointer, typename T = typename detail::member_of<Pointer>::type>
struct member {};

/// The type of a field for a structure whose members are recorded as fields of their own. Their
/// names begin with the name of the field:
///
///     field<"from", members<member<"x", &point::x>, member<"y", &point::y>>>
///
/// is the fields `from_x` and `from_y`, and takes a point.
template <typename... Members>
struct members {};

namespace detail {

/// The name of a field, and before it the one that it is a part of.
struct field_name {
    std::string_view own;
    const field_name* outer = nullptr;

    template <typename Writer>
    [[gnu::visibility("hidden")]] constexpr void write(Writer& writer) const {
        if (outer) {
            outer->write(writer);
            writer.add("_");
        }
        writer.add(own);
    }
};

/// How a type is recorded. Each specialization has
/// - value: what the code that puts records together takes (see payload.hpp)
/// - describe(): adds the text of the field to a command
/// - accepts: whether an argument of a type may be passed
/// - keeps: whether the field can hold every value of such an argument, except that the sign may
/// change. Used for what a function returns, whose value the compiler does not know
/// - make(): makes the value of an argument
/// Types without a specialization cannot be recorded.
template <typename T>
struct recorded;

template <typename T>
concept recordable = requires {
    typename recorded<T>::value;
};

/// Adds a field to a command: the type, the name, and the size if there is one.
template <typename Writer>
[[gnu::visibility("hidden")]] constexpr void describe(Writer& writer, std::string_view type,
                                                      const field_name& name, std::size_t array = 0,
                                                      std::size_t size = 0) {
    writer.begin_field();
    writer.add(type);
    if (array) {
        writer.add("[");
        writer.add_number(array);
        writer.add("]");
    }
    writer.add(" ");
    writer.begin_name();
    name.write(writer);
    writer.end_name();
    if (size) {
        writer.add(" ");
        writer.add_number(size);
    }
}

template <typename T>
concept number = std::integral<T> && sizeof(T) <= 8;
template <typename T>
concept real = std::floating_point<T> && sizeof(T) <= 8;
template <typename T>
concept byte = std::same_as<T, unsigned char> || std::same_as<T, std::byte>;

/// A class that converts to a number, and names its type as std::atomic does.
template <typename T>
concept number_like = std::is_class_v<T> && std::is_arithmetic_v<typename T::value_type> &&
    std::convertible_to<const T&, typename T::value_type>;

template <typename T>
consteval auto find_arithmetic() {
    if constexpr (number_like<T>)
        return std::type_identity<std::remove_cv_t<typename T::value_type>>();
    else if constexpr (std::is_class_v<T> && requires(const T& value) {
                           requires std::is_arithmetic_v<std::remove_cvref_t<decltype(+value)>>;
                       })
        return std::type_identity<std::remove_cvref_t<decltype(+std::declval<const T&>())>>();
    else if constexpr (std::is_enum_v<T> && std::convertible_to<T, int>)
        return std::type_identity<std::underlying_type_t<T>>();
    else
        return std::type_identity<T>();
}
/// The type of the number that an argument of class or unscoped enumeration type converts to. Other
/// types are left as they are.
template <typename T>
using arithmetic_of = typename decltype(detail::find_arithmetic<T>())::type;

/// Adds a field that is the location of an array of numbers or characters.
template <typename Writer>
[[gnu::visibility("hidden")]] constexpr void
describe_located(Writer& writer, std::string_view element, const field_name& name) {
    writer.begin_field();
    writer.add("__rel_loc ");
    writer.add(element);
    writer.add("[] ");
    writer.begin_name();
    name.write(writer);
    writer.end_name();
}

/// What types have in common that are recorded as an arithmetic type. `Like` is the type that
/// arguments are converted to.
template <typename T, typename Like = T>
struct recorded_number {
    using value = T;

    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& name) {
        detail::describe(writer, std::same_as<T, char> ? "char" : names_of_number<T>().name, name);
    }
    template <typename From>
    static constexpr bool accepts = std::convertible_to<From, Like>;
    template <typename From>
    static constexpr bool keeps = true;
};

/// The language also converts floating-point numbers to integers, and long integers to short ones,
/// which would record other values. An int literal may be passed for a shorter field.
template <number T>
struct recorded<T> : recorded_number<T> {
    template <typename From>
    static constexpr bool accepts =
        std::convertible_to<From, T> && !std::floating_point<arithmetic_of<From>> &&
        std::same_as<arithmetic_of<From>, bool> == std::same_as<T, bool> &&
        (std::is_class_v<arithmetic_of<From>> || sizeof(arithmetic_of<From>) <= sizeof(T) ||
         sizeof(arithmetic_of<From>) <= sizeof(int));
    template <typename From>
    static constexpr bool keeps = std::is_class_v<arithmetic_of<From>> ||
                                  sizeof(arithmetic_of<From>) <= sizeof(T);

    template <typename From>
    [[gnu::always_inline]] static constexpr T make(const From& from) {
        if constexpr (std::is_class_v<arithmetic_of<From>>)
            return from;
        else
            return static_cast<T>(static_cast<arithmetic_of<From>>(from));
    }
};

/// The kernel has no type for floating-point numbers: a structure has the bits.
template <real T>
struct recorded<T> : recorded_number<T> {
    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& name) {
        detail::describe(writer, names_of_number<T>().field, name, 0, sizeof(T));
    }
    template <typename From>
    static constexpr bool accepts =
        std::convertible_to<From, T> && !std::same_as<arithmetic_of<From>, bool> &&
        (!std::floating_point<arithmetic_of<From>> || sizeof(arithmetic_of<From>) <= sizeof(T));
    template <typename From>
    static constexpr bool keeps =
        !std::integral<arithmetic_of<From>> ||
        std::numeric_limits<arithmetic_of<From>>::digits <= std::numeric_limits<T>::digits;

    template <typename From>
    [[gnu::always_inline]] static constexpr T make(const From& from) {
        return static_cast<T>(from);
    }
};

template <typename T>
requires std::is_enum_v<T>
struct recorded<T> : recorded_number<std::underlying_type_t<T>, T> {
    [[gnu::always_inline]] static constexpr std::underlying_type_t<T> make(T from) {
        return static_cast<std::underlying_type_t<T>>(from);
    }
};

/// std::chrono::duration.
template <typename T>
concept duration_like = std::is_class_v<T> && requires(const T& value) {
    typename T::period;
    { value.count() } -> std::same_as<typename T::rep>;
};
template <duration_like T>
requires recordable<typename T::rep>
struct recorded<T> : recorded<typename T::rep> {
    template <typename From>
    static constexpr bool accepts = std::convertible_to<From, T>;
    template <typename From>
    static constexpr bool keeps = true;
    [[gnu::always_inline]] static constexpr typename T::rep make(const T& from) {
        return from.count();
    }
};

/// std::chrono::time_point.
template <typename T>
concept time_point_like = std::is_class_v<T> && requires(const T& value) {
    typename T::clock;
    { value.time_since_epoch() } -> std::same_as<typename T::duration>;
};
template <time_point_like T>
requires recordable<typename T::duration>
struct recorded<T> : recorded<typename T::duration> {
    template <typename From>
    static constexpr bool accepts = std::convertible_to<From, T>;
    [[gnu::always_inline]] static constexpr auto make(const T& from) {
        return from.time_since_epoch().count();
    }
};

/// Pointers are recorded as numbers, in 8 bytes also by 32-bit programs.
template <typename T>
struct recorded<T*> : recorded_number<std::uint64_t, T*> {
    [[gnu::always_inline]] static std::uint64_t make(T* from) {
        return reinterpret_cast<std::uintptr_t>(from);
    }
};

/// std::coroutine_handle.
template <typename T>
concept handle_like = std::is_class_v<T> && requires(const T& value) {
    { value.address() } -> std::same_as<void*>;
    T::from_address(nullptr);
};
template <handle_like T>
struct recorded<T> : recorded_number<std::uint64_t, T> {
    [[gnu::always_inline]] static std::uint64_t make(const T& from) {
        return reinterpret_cast<std::uintptr_t>(from.address());
    }
};

/// Text, also std::string and others that convert to it.
template <typename Value>
struct recorded_text {
    using value = Value;

    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& name) {
        detail::describe(
            writer, stored<Value>::is_relative ? "__rel_loc char[]" : "__data_loc char[]", name);
    }
    template <typename From>
    static constexpr bool accepts = std::convertible_to<const From&, text>;
    template <typename From>
    static constexpr bool keeps = true;
    template <typename From>
    [[gnu::always_inline]] static value make(const From& from) {
        return {text(from)};
    }
};
template <>
struct recorded<data_loc_text> : recorded_text<far_text> {};
template <>
struct recorded<const char*> : recorded_text<text> {};
template <>
struct recorded<char*> : recorded_text<text> {};
template <typename T>
requires(std::is_class_v<T>&& std::convertible_to<const T&, text>) struct recorded<T>
    : recorded_text<text> {
};

/// Text of at most Size - 1 bytes; longer text is cut. The rest of the field is filled with NULs.
template <std::size_t Size>
struct recorded<char[Size]> : recorded_text<characters<Size>> {
    static constexpr std::size_t array_size = Size;

    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& name) {
        detail::describe(writer, "char", name, Size);
    }
};

/// What a container of the program has.
template <typename T>
concept sequence_like =
    std::is_class_v<T> && !std::convertible_to<const T&, text> && requires(const T& value) {
    { *value.data() } -> std::convertible_to<const typename T::value_type&>;
    { value.size() } -> std::convertible_to<std::size_t>;
};

/// The elements of arrays that can be recorded. Types of characters are not among them: char is for
/// text, and the other ones are no numbers.
template <typename T>
concept element = (number<T> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
                   !std::same_as<T, char16_t> && !std::same_as<T, char32_t>) ||
                  real<T> || byte<T>;

/// Whether a type has such elements.
template <typename From, typename T>
inline constexpr bool has_elements = false;
template <sequence_like From, typename T>
inline constexpr bool has_elements<From, T> =
    std::same_as<std::remove_const_t<typename From::value_type>, T>;
template <typename T, std::size_t Size>
inline constexpr bool has_elements<T[Size], T> = true;

/// Numbers, one after the other.
template <element T>
struct recorded_sequence {
    using value = elements<sizeof(T)>;

    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& name) {
        describe_located(writer, names_of_number<T>().name, name);
    }
    template <typename From>
    static constexpr bool accepts = has_elements<From, T>;
    template <typename From>
    static constexpr bool keeps = true;
    template <typename From>
    [[gnu::always_inline]] static value make(const From& from) {
        return {from.data(), from.size() * sizeof(T)};
    }
    template <std::size_t Size>
    [[gnu::always_inline]] static value make(const T (&from)[Size]) {
        return {from, sizeof(from)};
    }
};
/// The size of std::array; 0 for others.
template <typename T>
inline constexpr std::size_t fixed_size = 0;
template <typename T>
requires requires {
    std::tuple_size<T>::value;
}
inline constexpr std::size_t fixed_size<T> = std::tuple_size<T>::value;

template <sequence_like T>
requires element<std::remove_const_t<typename T::value_type>>
struct recorded<T> : recorded_sequence<std::remove_const_t<typename T::value_type>> {
};
template <element T, std::size_t Size>
struct recorded<T[Size]> : recorded_sequence<T> {};

/// All bytes of an object whose size is constant.
template <typename T>
struct recorded_object {
    using value = object<sizeof(T)>;

    template <typename From>
    static constexpr bool accepts = std::convertible_to<const From*, const T*>;
    template <typename From>
    static constexpr bool keeps = true;
    /// T may have an operator & of its own.
    [[gnu::always_inline]] static value make(const T& from) { return {__builtin_addressof(from)}; }
};

/// std::array of bytes.
template <sequence_like T>
requires(element<std::remove_const_t<typename T::value_type>>&& byte<typename T::value_type>&&
             fixed_size<T> > 0) struct recorded<T> : recorded_object<T> {
    static constexpr std::size_t array_size = fixed_size<T>;

    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& name) {
        detail::describe(writer, "unsigned char", name, array_size);
    }
};

template <literal Tag, typename T>
struct recorded<structure<Tag, T>> : recorded_object<T> {
    static constexpr bool has_good_tag = is_tag(view_of<Tag>());
    static constexpr bool is_copyable = std::is_trivially_copyable_v<T>;

    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& name) {
        writer.begin_field();
        writer.add("struct ");
        writer.add(view_of<Tag>());
        writer.add(" ");
        writer.begin_name();
        name.write(writer);
        writer.end_name();
        writer.add(" ");
        writer.add_number(sizeof(T));
    }
};

/// A member, as a part of a value with all members.
template <typename Member>
struct recorded_member;
template <literal Name, auto Pointer, typename T>
requires recordable<T>
struct recorded_member<member<Name, Pointer, T>> : recorded<T> {
    using object = typename member_of<Pointer>::object;
    using value = typename recorded<T>::value;

    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& outer) {
        recorded<T>::describe(writer, {detail::view_of<Name>(), &outer});
    }
    static value make(const object& from) { return recorded<T>::make(from.*Pointer); }
};

template <typename First, typename... Members>
requires requires {
    typename recorded_member<First>::value;
    (typename recorded_member<Members>::value(), ...);
}
struct recorded<members<First, Members...>> {
    using object_type = typename recorded_member<First>::object;
    using value = group<object_type, recorded_member<First>, recorded_member<Members>...>;

    template <typename Writer>
    static constexpr void describe(Writer& writer, const field_name& name) {
        recorded_member<First>::describe(writer, name);
        (recorded_member<Members>::describe(writer, name), ...);
    }
    template <typename From>
    static constexpr bool accepts = std::convertible_to<const From*, const object_type*>;
    template <typename From>
    static constexpr bool keeps = true;
    [[gnu::always_inline]] static value make(const object_type& from) {
        return {__builtin_addressof(from)};
    }
};

/// std::optional.
template <typename T>
concept optional_like = std::is_class_v<T> && requires(const T& value) {
    { value.has_value() } -> std::same_as<bool>;
    { *value } -> std::convertible_to<const typename T::value_type&>;
};

/// The type that an optional argument has if it is there; else the type itself.
template <typename T>
struct present {
    using type = T;
};
template <optional_like T>
struct present<T> {
    using type = std::remove_cvref_t<decltype(*std::declval<const T&>())>;
};

/// What is recorded of text, arrays and structures refers to what the optional has.
template <typename T>
inline constexpr bool has_lasting_value = true;
template <optional_like T>
inline constexpr bool has_lasting_value<T> = outlives_call<decltype(*std::declval<const T&>())>;

/// Absent is 0, or empty.
template <optional_like T>
requires recordable<typename T::value_type>
struct recorded<T> : recorded<typename T::value_type> {
    using base = recorded<typename T::value_type>;
    using value = typename base::value;

    /// std::nullopt.
    template <typename From>
    static constexpr bool is_nothing =
        std::is_empty_v<From>&& std::convertible_to<From, T> &&
        !std::is_arithmetic_v<arithmetic_of<From>> && !base::template accepts<From>;
    template <typename From>
    static constexpr bool accepts = is_nothing<From> ||
                                    (base::template accepts<typename present<From>::type> &&
                                     (std::is_arithmetic_v<value> || has_lasting_value<From>));
    template <typename From>
    static constexpr bool keeps =
        is_nothing<From> || base::template keeps<typename present<From>::type>;
    template <typename From>
    [[gnu::always_inline]] static value make(const From& from) {
        if constexpr (is_nothing<From>)
            return value();
        else if constexpr (optional_like<From> && !base::template accepts<From>)
            return from.has_value() ? base::make(*from) : value();
        else
            return base::make(from);
    }
};

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
/// | float, double                                   | struct f32, struct f64: its bits |
/// | std::chrono::duration, time_point               | its count                        |
/// | a pointer, std::coroutine_handle                | u64                              |
/// | char[N]                                         | char[N]; longer text is cut      |
/// | std::string_view, std::string, const char*,     | __rel_loc char[]                 |
/// | std::u8string_view, std::filesystem::path, what |                                  |
/// | converts to std::string_view                    |                                  |
/// | data_loc_text                                   | __data_loc char[]                |
/// | std::array of N bytes                           | unsigned char[N]                 |
/// | std::span, std::vector, std::array or array of  | __rel_loc u8[] to s64[], f32[],  |
/// | numbers or bytes                                | f64[]                            |
/// | structure<"TAG", S>                             | struct TAG                       |
/// | members<member<"NAME", &S::...>...>             | a field for each member          |
/// | std::optional of one of these                   | the same; absent is 0 or empty   |
///
/// For text, a program may pass any of the string types, also a null pointer, which is empty text.
template <literal Name, typename T>
struct field {
    using type = T;
    static constexpr std::string_view name() { return detail::view_of<Name>(); }
};

/// A list of fields. A structure that is derived from it is a part of an event in place of the
/// fields:
///
///     struct order_fields : fields<field<"number", std::uint32_t>,
///                                  field<"item", std::string_view>> {};
///     inline event<"order_placed", order_fields> order_placed;
///
/// Several events can have the list.
template <typename... Fields>
struct fields {};

} // namespace USER_EVENTS_NAMESPACE
