// SPDX-License-Identifier: MIT
// Events whose names and fields are known only when the program runs: for loggers, bindings of
// other languages, and configurable programs.
#pragma once

#include "command.hpp"
#include "field.hpp"
#include "payload.hpp"
#include "registration.hpp"
#include "version.h"

#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace USER_EVENTS_NAMESPACE {

/// A value, or the reason why there is none: std::expected<T, std::error_code> of C++23, with the
/// same names of members.
template <typename T>
class [[nodiscard]] result {
public:
    // NOLINTBEGIN(google-explicit-constructor): functions return a value or an error.
    result(T value) noexcept : value_(std::move(value)) {}
    result(std::error_code error) noexcept : error_(error) {}
    // NOLINTEND(google-explicit-constructor)
    result(const result&) = default;
    result(result&&) = default;
    result& operator=(const result&) = default;
    result& operator=(result&&) = default;
    [[gnu::visibility("hidden")]] ~result() = default;

    bool has_value() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return has_value(); }

    /// The value. There must be one.
    T& operator*() noexcept { return *value_; }
    const T& operator*() const noexcept { return *value_; }
    T* operator->() noexcept { return &*value_; }
    const T* operator->() const noexcept { return &*value_; }

    /// The reason; no error if there is a value.
    std::error_code error() const noexcept { return error_; }

private:
    std::optional<T> value_;
    std::error_code error_;
};

/// How a field of a dynamic_event is recorded.
enum class field_type : std::uint8_t {
    s8,
    u8,
    s16,
    u16,
    s32,
    u32,
    s64,
    u64,
    /// float and double, as `struct f32` and `struct f64`
    f32,
    f64,
    /// text, as `__rel_loc char[]`
    text,
    /// bytes, as `__rel_loc u8[]`
    bytes,
    /// arrays of numbers, as `__rel_loc s8[]` and so on
    s8_array,
    s16_array,
    u16_array,
    s32_array,
    u32_array,
    s64_array,
    u64_array,
    f32_array,
    f64_array,
};

namespace detail {

/// How a field_type is described and stored.
struct dynamic_type {
    /// Names of the field's type, or of the elements' type if the field is located.
    number_names names;
    /// The size of the number, or of the location.
    std::size_t size;
    /// The size of the number or of an element.
    std::size_t unit;
    /// Text, or an array.
    bool is_located;
};

/// By field_type: the numbers, text, and arrays of the numbers, that of u8 first.
struct dynamic_type_table {
    static constexpr std::size_t size = static_cast<std::size_t>(field_type::f64_array) + 1;
    dynamic_type rows[size];

    consteval dynamic_type_table() : rows{} {
        std::size_t used = 0;
        find_number([&](auto each) {
            constexpr std::size_t unit = sizeof(typename decltype(each)::type);
            rows[used++] = {each, unit, unit, false};
            return false;
        });
        const auto add_located = [&](number_names names, std::size_t unit) {
            rows[used++] = {names, 4, unit, true};
        };
        add_located({"char"}, 1);
        add_located(names_of_number<std::uint8_t>(), 1);
        find_number([&](auto each) {
            if (each.name != names_of_number<std::uint8_t>().name)
                add_located(each, sizeof(typename decltype(each)::type));
            return false;
        });
    }
};
[[gnu::visibility("hidden")]] inline constexpr dynamic_type_table dynamic_types;

constexpr const dynamic_type* dynamic_type_of(field_type type) noexcept {
    const auto number = static_cast<std::size_t>(type);
    return number < dynamic_type_table::size ? &dynamic_types.rows[number] : nullptr;
}

consteval bool has_name(field_type type, std::string_view name, bool is_located) {
    return dynamic_type_of(type)->names.name == name &&
           dynamic_type_of(type)->is_located == is_located;
}
static_assert(has_name(field_type::s8, "s8", false) && has_name(field_type::f64, "f64", false) &&
              has_name(field_type::text, "char", true) && has_name(field_type::bytes, "u8", true) &&
              has_name(field_type::s8_array, "s8", true) &&
              has_name(field_type::u16_array, "u16", true) &&
              has_name(field_type::f64_array, "f64", true));

} // namespace detail

/// A field of a dynamic_event.
struct dynamic_field {
    std::string_view name;
    field_type type;
};

/// The value of a field of a dynamic_event: whatever a field of an event<> takes, with two
/// exceptions: a structure, and a std::optional of text or of an array. A field of integers takes
/// any integer that fits, but no floating-point number; a floating-point field takes no integer.
/// The elements of an array must have the field's type. Text and arrays are referred to, not
/// copied.
class dynamic_value {
public:
    // NOLINTBEGIN(google-explicit-constructor): programs pass values.
    template <typename T>
    requires(std::is_arithmetic_v<typename detail::recorded<T>::value> &&
             !std::convertible_to<const T&, text>) // A pointer to char8_t is text.
        dynamic_value(const T& value)
        : kind_(detail::real<raw<T>>       ? kind::real
                : std::is_signed_v<raw<T>> ? kind::integer
                                           : kind::natural) {
        if constexpr (detail::real<raw<T>>)
            real_ = detail::recorded<T>::make(value);
        else
            natural_ = static_cast<std::uint64_t>(detail::recorded<T>::make(value));
    }
    template <std::convertible_to<text> T>
    dynamic_value(const T& value) : kind_(kind::text), text_(value) {}
    template <detail::sequence_like T>
    requires detail::element<std::remove_const_t<typename T::value_type>>
    dynamic_value(const T& value) : dynamic_value(value.data(), value.size()) {}
    template <detail::element T, std::size_t Size>
    requires(!std::convertible_to<const T*, text>) // An array of char8_t is text.
        dynamic_value(const T (&value)[Size])
    noexcept : dynamic_value(value, Size) {}
    // NOLINTEND(google-explicit-constructor)

private:
    template <typename T>
    dynamic_value(const T* data, std::size_t size) noexcept
        : kind_(kind::array),
          element_(detail::names_of_number<std::remove_const_t<T>>().name), array_{data,
                                                                                   size *
                                                                                       sizeof(T)} {}

    friend class dynamic_event;
    template <typename T>
    using raw = typename detail::recorded<T>::value;
    enum class kind : std::uint8_t { integer, natural, real, text, array };

    kind kind_;
    std::string_view element_;
    union {
        /// An integer is kept as its two's complement.
        std::uint64_t natural_;
        double real_;
        text text_;
        detail::bytes array_;
    };
};

/// An event whose name and fields are values. It is registered while the object exists. It can be
/// moved; the object that it was moved from may only be destroyed or assigned to.
///
///     auto event = dynamic_event::create("order", {{"number", field_type::u32},
///                                                  {"item", field_type::text}});
///     if (event && *event)
///         event->write({17, "coffee"});
class dynamic_event {
public:
    dynamic_event(dynamic_event&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    /// Unregisters the event that the object had.
    dynamic_event& operator=(dynamic_event&& other) noexcept {
        dynamic_event moved(std::move(other));
        std::swap(state_, moved.state_);
        return *this;
    }
    [[gnu::visibility("hidden")]] ~dynamic_event() { delete std::exchange(state_, nullptr); }

    /// Creates and registers an event. Fails with EINVAL if the kernel would not accept the name or
    /// a field, or if there are more than 100 fields; E2BIG if the command has more than 511 bytes
    /// or the fields more than max_payload; ENOMEM. If the event cannot be registered, it is
    /// created nevertheless: see error(). Allocates memory, and waits for a mutex.
    [[gnu::visibility("hidden")]] static result<dynamic_event>
    create(std::string_view name, std::span<const dynamic_field> fields,
           bool is_multi_format = false) noexcept;
    static result<dynamic_event> create(std::string_view name,
                                        std::initializer_list<dynamic_field> fields,
                                        bool is_multi_format = false) noexcept {
        return create(name, std::span(fields.begin(), fields.size()), is_multi_format);
    }

    /// Returns whether the event is recorded at present. Async-signal-safe.
    explicit operator bool() const noexcept {
        return state_->registered.word().load(std::memory_order_relaxed) & 1;
    }

    /// Records the event if it is enabled. Fails with EINVAL if the number of values is wrong or
    /// one is of another type than its field, and ERANGE if a number does not fit. These are
    /// checked first, whether the event is enabled or not. Returns no error if the event is not
    /// enabled, otherwise that of the kernel, or EBADF if the file was lost and cannot be opened
    /// again. If the kernel refuses to register the event with the file that was opened again,
    /// returns why. Text that is too long is cut. Async-signal-safe, from any thread; does not
    /// allocate memory.
    [[gnu::visibility("hidden")]] std::error_code
    write(std::span<const dynamic_value> values) const noexcept;
    std::error_code write(std::initializer_list<dynamic_value> values) const noexcept {
        return write(std::span(values.begin(), values.size()));
    }

    /// As for event<>.
    std::error_code error() const noexcept { return state_->registered.error(); }
    std::uint32_t cut() const noexcept { return state_->registered.cut(); }
    std::uint32_t lost() const noexcept { return state_->registered.lost(); }

    /// The text that the kernel got.
    std::string_view command() const noexcept { return state_->command.characters; }

private:
    static constexpr std::size_t max_fields = detail::max_located;
    using command_writer = detail::command_writer<max_command, max_fields>;
    struct command_text {
        char characters[max_command + 1];

        template <typename Writer>
        explicit command_text(const Writer& writer) noexcept {
            std::memcpy(characters, writer.text, sizeof(characters));
        }
    };

    /// The kernel writes into the registration, so it stays where it is.
    struct state {
        command_text command;
        field_type types[max_fields];
        std::size_t count;
        detail::declaration declared;
        detail::registration registered;

        [[gnu::visibility("hidden")]] state(const command_writer& text,
                                            std::span<const dynamic_field> fields,
                                            bool is_multi_format) noexcept
            : command(text),
              count(fields.size()), declared{command.characters, nullptr,
                                             static_cast<std::uint16_t>(
                                                 is_multi_format ? USER_EVENTS_MULTI_FORMAT : 0u)},
              registered(declared) {
            for (std::size_t i = 0; i < count; i++)
                types[i] = fields[i].type;
        }
    };

    [[gnu::visibility("hidden")]] explicit dynamic_event(state* made) noexcept : state_(made) {}

    template <typename T>
    [[gnu::visibility("hidden")]] static int store(std::byte* to,
                                                   const dynamic_value& value) noexcept;
    [[gnu::visibility("hidden")]] static int store_number(std::byte* to, field_type type,
                                                          const dynamic_value& value) noexcept;

    state* state_;
};

inline result<dynamic_event> dynamic_event::create(std::string_view name,
                                                   std::span<const dynamic_field> fields,
                                                   bool is_multi_format) noexcept {
    if (!detail::is_event_name(name) || fields.size() > max_fields ||
        name.size() + (is_multi_format ? detail::max_suffix : 0) > detail::max_name)
        return detail::error_of(EINVAL);
    command_writer command;
    command.add(name);
    std::size_t size = 0;
    for (const dynamic_field& field : fields) {
        const detail::dynamic_type* const type = detail::dynamic_type_of(field.type);
        if (!type || !detail::is_field_name(field.name) || detail::is_common_field(field.name))
            return detail::error_of(EINVAL);
        const detail::number_names& names = type->names;
        if (type->is_located)
            detail::describe_located(command, names.name, {field.name});
        else
            detail::describe(command, names.field, {field.name}, 0,
                             names.field == names.name ? 0 : type->size);
        size += type->size;
    }
    if (!command.fits() || size > max_payload)
        return detail::error_of(E2BIG);
    if (command.has_duplicate())
        return detail::error_of(EINVAL);
    state* const made = new (std::nothrow) state(command, fields, is_multi_format);
    if (!made)
        return detail::error_of(ENOMEM);
    return dynamic_event(made);
}

template <typename T>
int dynamic_event::store(std::byte* to, const dynamic_value& value) noexcept {
    using kind = dynamic_value::kind;
    T number;
    if constexpr (detail::real<T>) {
        if (value.kind_ != kind::real)
            return EINVAL;
        number = static_cast<T>(value.real_);
    } else {
        if (value.kind_ != kind::integer && value.kind_ != kind::natural)
            return EINVAL;
        if (value.kind_ == kind::integer
                ? !std::in_range<T>(static_cast<std::int64_t>(value.natural_))
                : !std::in_range<T>(value.natural_))
            return ERANGE;
        number = static_cast<T>(value.natural_);
    }
    std::memcpy(to, &number, sizeof(number));
    return 0;
}

inline int dynamic_event::store_number(std::byte* to, field_type type,
                                       const dynamic_value& value) noexcept {
    int result = EINVAL;
    auto left = static_cast<std::size_t>(type);
    detail::find_number([&](auto each) {
        if (left-- != 0)
            return false;
        result = store<typename decltype(each)::type>(to, value);
        return true;
    });
    return result;
}

inline std::error_code dynamic_event::write(std::span<const dynamic_value> values) const noexcept {
    using kind = dynamic_value::kind;
    const auto& types = state_->types;
    if (values.size() != state_->count)
        return detail::error_of(EINVAL);
    std::byte record[detail::index_size + 8 * max_fields + detail::most_copied];
    std::byte* const payload = record + detail::index_size;
    detail::bytes data[max_fields];
    detail::location_of_field locations[max_fields];
    std::size_t used = 0, place = 0;
    for (std::size_t i = 0; i < values.size(); i++) {
        const dynamic_value& value = values[i];
        const detail::dynamic_type& type = *detail::dynamic_type_of(types[i]);
        const bool is_text = types[i] == field_type::text;
        int error = 0;
        if (!type.is_located)
            error = store_number(payload + place, types[i], value);
        else if (value.kind_ != (is_text ? kind::text : kind::array) ||
                 (!is_text && value.element_ != type.names.name))
            error = EINVAL;
        else {
            const std::string_view characters = is_text ? value.text_.view() : std::string_view();
            locations[used] = {static_cast<std::uint16_t>(place),
                               static_cast<std::uint8_t>(type.unit), is_text, true};
            data[used++] =
                is_text ? detail::bytes{characters.data(), characters.size()} : value.array_;
        }
        if (error)
            return detail::error_of(error);
        place += type.size;
    }
    if (!*this)
        return {};
    const int error =
        detail::write_located(state_->registered, record, place, locations, data, used);
    // Disabled after the test.
    return error == EBADF && !*this ? std::error_code() : detail::error_of(error);
}

} // namespace USER_EVENTS_NAMESPACE
