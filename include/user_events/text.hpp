// SPDX-License-Identifier: MIT
#pragma once

#include "version.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

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

namespace detail {

template <typename T, typename Character>
concept pointer_to = std::same_as<T, const Character*> || std::same_as<T, Character*>;

/// Classes of the program that are text.
template <typename T>
concept string_like = std::is_class_v<T> && std::convertible_to<const T&, std::string_view>;

/// Whether what a member function returns still refers to its characters when it is used: a string
/// that is returned by value is destroyed before.
template <typename T>
inline constexpr bool outlives_call =
    std::is_lvalue_reference_v<T> || std::is_pointer_v<T> || std::same_as<T, std::string_view>;

/// std::filesystem::path, and classes like it.
template <typename T>
concept path_like = std::is_class_v<T> && requires(const T& path) {
    { path.native() } -> std::convertible_to<std::string_view>;
    requires outlives_call<decltype(path.native())>;
};

} // namespace detail

/// Text that is passed to an event. Any string converts to it: std::string_view, std::string,
/// const char* (null is empty), an array of char (up to its first NUL; it need not have one), those
/// of char8_t, std::filesystem::path, and what converts to std::string_view. It refers to the
/// string. Nothing is read of the string before the event is recorded. What the conversion of a
/// class of the program throws is passed on.
class text {
public:
    constexpr text() noexcept : data_(""), size_(0) {}
    // NOLINTBEGIN(google-explicit-constructor): programs pass strings.
    constexpr text(std::string_view from) noexcept : data_(from.data()), size_(from.size()) {}
    text(const std::string& from) noexcept
        : data_(reinterpret_cast<const char*>(&from)), size_(is_object) {}
    template <detail::pointer_to<char> Pointer>
    [[gnu::always_inline]] text(const Pointer& from) noexcept
        : data_(from), size_(length_if_known(from)) {}
    template <std::size_t Size>
    [[gnu::always_inline]] text(const char (&from)[Size]) noexcept
        : data_(from), size_(length_if_literal(from)) {}
    constexpr text(std::nullptr_t) noexcept : text() {}
#ifdef __cpp_char8_t // Not with -fno-char8_t.
    text(std::u8string_view from) noexcept
        : data_(reinterpret_cast<const char*>(from.data())), size_(from.size()) {}
    text(const std::u8string& from) noexcept : text(std::u8string_view(from)) {}
    template <detail::pointer_to<char8_t> Pointer>
    text(const Pointer& from) noexcept : text(reinterpret_cast<const char*>(from)) {}
    template <std::size_t Size>
    text(const char8_t (&from)[Size]) noexcept
        : data_(reinterpret_cast<const char*>(from)), size_(is_array | Size) {}
#endif
    template <detail::string_like T>
    text(const T& from) : text(static_cast<std::string_view>(from)) {}
    template <detail::path_like T>
    text(const T& from) : text(std::string_view(from.native())) {}
    // NOLINTEND(google-explicit-constructor)

    /// The bytes of the text; may be null if there are none.
    std::string_view view() const noexcept {
        if (is_measured()) [[likely]]
            return {data_, size_};
        if (size_ == is_object)
            return *reinterpret_cast<const std::string*>(data_);
        if (size_ != unknown)
            return {data_, strnlen(data_, size_ & ~is_array)};
        return data_ ? std::string_view(data_) : std::string_view();
    }

    /// Whether view() need not read the string.
    bool is_measured() const noexcept {
        return size_ < is_array;
    }

private:
    /// Sizes that say what data_ points to: a text up to a NUL; a std::string; or, with the size of
    /// the array in the other bits, an array.
    static constexpr std::size_t unknown = static_cast<std::size_t>(-1), is_object = unknown - 1,
                                 is_array = ~(unknown >> 1);

    /// The length of a literal is a constant. The length of other text is not known here.
    [[gnu::always_inline]] static std::size_t length_if_known(const char* from) noexcept {
        return __builtin_constant_p(from ? __builtin_strlen(from) : 0)
                   ? (from ? __builtin_strlen(from) : 0)
                   : unknown;
    }

    /// A literal ends with NUL. Another array may have none.
    template <std::size_t Size>
    [[gnu::always_inline]] static std::size_t length_if_literal(const char (&from)[Size]) noexcept {
        if (__builtin_constant_p(from[Size - 1] == '\0') && from[Size - 1] == '\0' &&
            __builtin_constant_p(__builtin_strlen(from)))
            return __builtin_strlen(from);
        return is_array | Size;
    }

    const char* data_;
    std::size_t size_;
};

namespace detail {

/// For a text of more than `most` bytes: returns the length of its longest beginning that has at
/// most `most` bytes and does not end within a character of UTF-8.
[[gnu::visibility("hidden")]] inline std::size_t utf8_prefix(const void* data,
                                                             std::size_t most) noexcept {
    const char* const characters = static_cast<const char*>(data);
    std::size_t size = most;
    // A character has at most three continuation bytes. Other text is cut anywhere.
    for (int i = 0; i < 4 && size > 0; i++, size--)
        if ((characters[size] & 0xc0) != 0x80)
            return size;
    return most;
}

} // namespace detail
} // namespace USER_EVENTS_NAMESPACE
