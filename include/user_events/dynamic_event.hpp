// SPDX-License-Identifier: MIT
// Events whose names and fields are known only when the program runs: for loggers, bindings of
// other languages, and configurable programs.
#pragma once

#include "command.hpp"
#include "errors.hpp"
#include "payload.hpp"
#include "registration.hpp"
#include "result.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

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
    /// double, as `struct f64`
    f64,
    /// text, as `__rel_loc char[]`
    text,
    /// bytes, as `__rel_loc u8[]`
    bytes,
};

/// A field of a dynamic_event.
struct dynamic_field {
    std::string_view name;
    field_type type;
};

/// The value of a field of a dynamic_event. A number that is not of the field's type is an error if
/// the field cannot hold its value. Text and bytes are referred to, not copied.
class dynamic_value {
public:
    // NOLINTBEGIN(google-explicit-constructor): programs pass values.
    template <std::signed_integral T>
    dynamic_value(T value) noexcept : value_(static_cast<std::int64_t>(value)) {}
    template <std::unsigned_integral T>
    dynamic_value(T value) noexcept : value_(static_cast<std::uint64_t>(value)) {}
    dynamic_value(double value) noexcept : value_(value) {}
    template <std::convertible_to<text> T>
    requires(!std::is_arithmetic_v<T>) dynamic_value(const T& value)
    noexcept : value_(text(value)) {}
    dynamic_value(std::span<const std::byte> value) noexcept : value_(value) {}
    // NOLINTEND(google-explicit-constructor)

private:
    friend class dynamic_event;
    std::variant<std::int64_t, std::uint64_t, double, text, std::span<const std::byte>> value_;
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
    dynamic_event(dynamic_event&&) noexcept = default;
    dynamic_event& operator=(dynamic_event&&) noexcept = default;
    [[gnu::visibility("hidden")]] ~dynamic_event() = default;

    /// Creates and registers an event. Fails with EINVAL if the kernel would not accept the name or
    /// a field, or if there are more than 100 fields; E2BIG if the command has more than 511 bytes
    /// or the fields more than max_payload; ENOMEM. If the event cannot be registered, it is
    /// created nevertheless: see error(). Allocates memory, and waits for a mutex.
    [[gnu::visibility("hidden")]] static result<dynamic_event>
    create(std::string_view name, std::span<const dynamic_field> fields,
           bool several_formats = false) noexcept;
    static result<dynamic_event> create(std::string_view name,
                                        std::initializer_list<dynamic_field> fields,
                                        bool several_formats = false) noexcept {
        return create(name, std::span(fields.begin(), fields.size()), several_formats);
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
    std::string_view command() const noexcept { return state_->command.text; }

private:
    static constexpr std::size_t max_fields = detail::max_located;

    /// The kernel writes into the registration, so it stays where it is.
    struct state {
        detail::command_writer<max_command> command;
        std::array<field_type, max_fields> types;
        std::size_t count;
        detail::declaration declared;
        detail::registration registered;

        [[gnu::visibility("hidden")]] state(const detail::command_writer<max_command>& text,
                                            std::span<const dynamic_field> fields,
                                            bool several_formats) noexcept
            : command(text),
              count(fields.size()), declared{command.text, nullptr,
                                             static_cast<std::uint16_t>(
                                                 several_formats ? USER_EVENTS_MULTI_FORMAT : 0u)},
              registered(declared) {
            for (std::size_t i = 0; i < count; i++)
                types[i] = fields[i].type;
        }
    };

    [[gnu::visibility("hidden")]] explicit dynamic_event(std::unique_ptr<state> made) noexcept
        : state_(std::move(made)) {}

    struct type_info {
        std::string_view before;
        std::string_view after;
        std::size_t size;
    };
    [[gnu::visibility("hidden")]] static type_info info(field_type type) noexcept;
    template <typename T>
    [[gnu::visibility("hidden")]] static int store(std::byte* to,
                                                   const dynamic_value& value) noexcept;
    [[gnu::visibility("hidden")]] static int store_number(std::byte* to, field_type type,
                                                          const dynamic_value& value) noexcept;

    std::unique_ptr<state> state_;
};

inline dynamic_event::type_info dynamic_event::info(field_type type) noexcept {
    switch (type) {
    case field_type::s8:
        return {"s8 ", "", 1};
    case field_type::u8:
        return {"u8 ", "", 1};
    case field_type::s16:
        return {"s16 ", "", 2};
    case field_type::u16:
        return {"u16 ", "", 2};
    case field_type::s32:
        return {"s32 ", "", 4};
    case field_type::u32:
        return {"u32 ", "", 4};
    case field_type::s64:
        return {"s64 ", "", 8};
    case field_type::u64:
        return {"u64 ", "", 8};
    case field_type::f64:
        return {"struct f64 ", " 8", 8};
    case field_type::text:
        return {"__rel_loc char[] ", "", 4};
    case field_type::bytes:
        return {"__rel_loc u8[] ", "", 4};
    }
    return {"", "", 0};
}

inline result<dynamic_event> dynamic_event::create(std::string_view name,
                                                   std::span<const dynamic_field> fields,
                                                   bool several_formats) noexcept {
    if (!detail::is_event_name(name) || fields.size() > max_fields ||
        name.size() + (several_formats ? detail::max_suffix : 0) > detail::max_name)
        return detail::error_of(EINVAL);
    detail::command_writer<max_command> command;
    command.add(name);
    std::size_t size = 0;
    for (std::size_t i = 0; i < fields.size(); i++) {
        const type_info type = info(fields[i].type);
        if (type.size == 0 || !detail::is_field_name(fields[i].name) ||
            detail::is_common_field(fields[i].name))
            return detail::error_of(EINVAL);
        for (std::size_t j = 0; j < i; j++)
            if (fields[i].name == fields[j].name)
                return detail::error_of(EINVAL);
        command.add(i == 0 ? " " : ";");
        command.add(type.before);
        command.add(fields[i].name);
        command.add(type.after);
        size += type.size;
    }
    if (command.size > max_command || size > max_payload)
        return detail::error_of(E2BIG);
    std::unique_ptr<state> made(new (std::nothrow) state(command, fields, several_formats));
    if (!made)
        return detail::error_of(ENOMEM);
    return dynamic_event(std::move(made));
}

template <typename T>
int dynamic_event::store(std::byte* to, const dynamic_value& value) noexcept {
    T number;
    if (const auto* from = std::get_if<std::int64_t>(&value.value_)) {
        if (!std::in_range<T>(*from))
            return ERANGE;
        number = static_cast<T>(*from);
    } else if (const auto* other = std::get_if<std::uint64_t>(&value.value_)) {
        if (!std::in_range<T>(*other))
            return ERANGE;
        number = static_cast<T>(*other);
    } else {
        return EINVAL;
    }
    std::memcpy(to, &number, sizeof(number));
    return 0;
}

inline int dynamic_event::store_number(std::byte* to, field_type type,
                                       const dynamic_value& value) noexcept {
    switch (type) {
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
    case field_type::f64:
        if (const auto* number = std::get_if<double>(&value.value_)) {
            std::memcpy(to, number, sizeof(*number));
            return 0;
        }
        return EINVAL;
    default:
        return EINVAL;
    }
}

inline std::error_code dynamic_event::write(std::span<const dynamic_value> values) const noexcept {
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
        int error = 0;
        if (types[i] == field_type::text) {
            if (const auto* from = std::get_if<text>(&value.value_)) {
                locations[used] = {static_cast<std::uint16_t>(place), true, true};
                data[used++] = detail::recorded_text::data(*from);
            } else {
                error = EINVAL;
            }
        } else if (types[i] == field_type::bytes) {
            if (const auto* from = std::get_if<std::span<const std::byte>>(&value.value_)) {
                locations[used] = {static_cast<std::uint16_t>(place), false, true};
                data[used++] = {from->data(), from->size()};
            } else {
                error = EINVAL;
            }
        } else {
            error = store_number(payload + place, types[i], value);
        }
        if (error)
            return detail::error_of(error);
        place += info(types[i]).size;
    }
    if (!*this)
        return {};
    const int error =
        detail::write_located(state_->registered, record, place, locations, data, used);
    // Disabled after the test.
    return error == EBADF && !*this ? std::error_code() : detail::error_of(error);
}

} // namespace USER_EVENTS_NAMESPACE
