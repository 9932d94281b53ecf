// SPDX-License-Identifier: MIT
// Events whose names and fields are known only when the program runs: for loggers, bindings of
// other languages, and configurable programs.
#pragma once

#include "command.hpp"
#include "errors.hpp"
#include "field.hpp"
#include "payload.hpp"
#include "registration.hpp"
#include "result.hpp"

#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace USER_EVENTS_NAMESPACE {

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

struct dynamic_type {
    std::string_view before, after;
    std::size_t size;
    /// Of an array, the name of its elements' type.
    std::string_view element;
};

/// By field_type.
[[gnu::visibility("hidden")]] inline constexpr dynamic_type dynamic_types[] = {
    {"s8 ", "", 1, ""},
    {"u8 ", "", 1, ""},
    {"s16 ", "", 2, ""},
    {"u16 ", "", 2, ""},
    {"s32 ", "", 4, ""},
    {"u32 ", "", 4, ""},
    {"s64 ", "", 8, ""},
    {"u64 ", "", 8, ""},
    {"struct f32 ", " 4", 4, ""},
    {"struct f64 ", " 8", 8, ""},
    {"__rel_loc char[] ", "", 4, ""},
    {"__rel_loc u8[] ", "", 4, "u8"},
    {"__rel_loc s8[] ", "", 4, "s8"},
    {"__rel_loc s16[] ", "", 4, "s16"},
    {"__rel_loc u16[] ", "", 4, "u16"},
    {"__rel_loc s32[] ", "", 4, "s32"},
    {"__rel_loc u32[] ", "", 4, "u32"},
    {"__rel_loc s64[] ", "", 4, "s64"},
    {"__rel_loc u64[] ", "", 4, "u64"},
    {"__rel_loc f32[] ", "", 4, "f32"},
    {"__rel_loc f64[] ", "", 4, "f64"},
};

constexpr const dynamic_type* dynamic_type_of(field_type type) noexcept {
    const auto number = static_cast<std::size_t>(type);
    return number < std::size(dynamic_types) ? &dynamic_types[number] : nullptr;
}

} // namespace detail

/// A field of a dynamic_event.
struct dynamic_field {
    std::string_view name;
    field_type type;
};

/// The value of a field of a dynamic_event. A number that is not of the field's type is an error if
/// the field cannot hold its value. Everything that a field of an event<> may have is a value, but
/// structures. Text and arrays are referred to, not copied.
class dynamic_value {
public:
    // NOLINTBEGIN(google-explicit-constructor): programs pass values.
    template <typename T>
    requires(std::is_arithmetic_v<typename detail::recorded<T>::value>)
        dynamic_value(const T& value)
    noexcept
        : kind_(detail::real<raw<T>>       ? kind::real
                : std::is_signed_v<raw<T>> ? kind::integer
                                           : kind::natural) {
        if constexpr (detail::real<raw<T>>)
            real_ = detail::recorded<T>::make(value);
        else
            natural_ = static_cast<std::uint64_t>(detail::recorded<T>::make(value));
    }
    template <std::convertible_to<text> T>
    dynamic_value(const T& value) noexcept : kind_(kind::text), text_(value) {}
    template <detail::sequence_like T>
    requires detail::element<std::remove_const_t<typename T::value_type>>
    dynamic_value(const T& value)
    noexcept : dynamic_value(value.data(), value.size()) {}
    template <detail::element T, std::size_t Size>
    dynamic_value(const T (&value)[Size]) noexcept : dynamic_value(value, Size) {}
    // NOLINTEND(google-explicit-constructor)

private:
    template <typename T>
    dynamic_value(const T* data, std::size_t size) noexcept
        : kind_(kind::array),
          element_(detail::type_name<std::remove_const_t<T>>()), array_{data, size * sizeof(T)} {}

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

/// An event whose name and fields are values. It can be moved. It is registered while the object
/// exists.
///
///     auto event = dynamic_event::create("order", {{"number", field_type::u32},
///                                                  {"item", field_type::text}});
///     if (event && *event)
///         event->write({17, "coffee"});
class dynamic_event {
public:
    dynamic_event(dynamic_event&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    dynamic_event& operator=(dynamic_event&& other) noexcept {
        std::swap(state_, other.state_);
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
    /// enabled, otherwise that of the kernel. Text that is too long is cut. Async-signal-safe, from
    /// any thread; does not allocate memory.
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
        const detail::dynamic_type* types[max_fields];
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
                types[i] = detail::dynamic_type_of(fields[i].type);
        }
    };

    [[gnu::visibility("hidden")]] explicit dynamic_event(state* made) noexcept : state_(made) {}

    template <typename T>
    [[gnu::visibility("hidden")]] static int store(std::byte* to,
                                                   const dynamic_value& value) noexcept;
    [[gnu::visibility("hidden")]] static int store_number(std::byte* to,
                                                          const detail::dynamic_type& type,
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
        command.begin_field();
        command.add(type->before);
        command.begin_name();
        command.add(field.name);
        command.end_name();
        command.add(type->after);
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

inline int dynamic_event::store_number(std::byte* to, const detail::dynamic_type& type,
                                       const dynamic_value& value) noexcept {
    switch (static_cast<field_type>(&type - detail::dynamic_types)) {
    case field_type::s8:
        return store<std::int8_t>(to, value);
    case field_type::u8:
        return store<std::uint8_t>(to, value);
    case field_type::s16:
        return store<std::int16_t>(to, value);
    case field_type::u16:
        return store<std::uint16_t>(to, value);
    case field_type::s32:
        return store<std::int32_t>(to, value);
    case field_type::u32:
        return store<std::uint32_t>(to, value);
    case field_type::s64:
        return store<std::int64_t>(to, value);
    case field_type::u64:
        return store<std::uint64_t>(to, value);
    case field_type::f32:
        return store<float>(to, value);
    case field_type::f64:
        return store<double>(to, value);
    default:
        return EINVAL;
    }
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
        const detail::dynamic_type& type = *types[i];
        const bool is_text = type.before == detail::dynamic_type_of(field_type::text)->before;
        int error = 0;
        if (!is_text && type.element.empty())
            error = store_number(payload + place, type, value);
        else if (value.kind_ != (is_text ? kind::text : kind::array) ||
                 (!is_text && value.element_ != type.element))
            error = EINVAL;
        else {
            const std::string_view characters = is_text ? value.text_.view() : std::string_view();
            locations[used] = {static_cast<std::uint16_t>(place), is_text, true};
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
