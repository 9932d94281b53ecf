// SPDX-License-Identifier: MIT
// Events in the EventHeader encoding, which LinuxTracepoints' programs write: each record describes
// its fields itself. user_events.hpp does not include this header.
#pragma once

#include "event.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <sys/syscall.h>
#include <tuple>
#include <type_traits>

namespace USER_EVENTS_NAMESPACE {
namespace eventheader {

/// How important an event is. It is a part of the tracepoint's name.
enum class level : std::uint8_t { critical = 1, error, warning, information, verbose };

/// What an event means for its activity.
enum class opcode : std::uint8_t { info, start, stop };

/// An activity that several events are parts of: a request, for example.
struct activity_id {
    std::uint8_t bytes[16];

    /// Returns a random number. Async-signal-safe. If a sandbox refuses getrandom(), or the kernel
    /// has no random numbers yet early in the boot, it is a number that the calling program or
    /// shared library has not used before.
    [[gnu::visibility("hidden")]] static activity_id create() noexcept {
        static constinit std::atomic<std::uint64_t> count{0};
        activity_id made{};
        if (!user_events_random(made.bytes, sizeof(made.bytes))) {
            const std::uint64_t number = ++count;
            std::memcpy(made.bytes, &number, sizeof(number));
        }
        return made;
    }
};

/// What a record tells beside its fields. What `own` and `related` point to is read only during the
/// call.
struct activity {
    eventheader::opcode opcode = eventheader::opcode::info;
    const activity_id* own = nullptr;
    /// The activity that led to this one. Recorded only with `own`.
    const activity_id* related = nullptr;
};

} // namespace eventheader

namespace detail {

/// Puts bytes together that are known at compile time. Counts what does not fit.
template <std::size_t Capacity>
struct byte_writer {
    char text[Capacity + 1] = {};
    std::size_t size = 0;

    constexpr void add(char byte) {
        if (size < Capacity)
            text[size] = byte;
        size++;
    }
    constexpr void add(std::string_view part) {
        for (const char byte : part)
            add(byte);
    }
    constexpr void add_hexadecimal(std::uint64_t number) {
        if (number >= 16)
            add_hexadecimal(number / 16);
        add("0123456789abcdef"[number % 16]);
    }
};

/// Calls `Write` twice: to count the bytes, and to write them into an array of that size.
template <auto Write>
struct made_bytes {
    static constexpr byte_writer<0> counted = [] {
        byte_writer<0> writer;
        Write(writer);
        return writer;
    }();
    [[gnu::visibility("hidden")]] static constexpr byte_writer<counted.size> value = [] {
        byte_writer<counted.size> writer;
        Write(writer);
        return writer;
    }();
};

/// The numbers of the encodings and formats that are written.
enum class encoding : std::uint8_t { structure = 1, number = 2, text = 10, binary = 13 };
enum class format : std::uint8_t { none, number = 2, hexadecimal, truth = 7, real, character = 10 };

/// Where the next field of a record goes. `room` is what text and arrays may still take.
struct header_cursor {
    std::byte* to;
    std::size_t room;
    bool is_cut = false;

    [[gnu::visibility("hidden")]] void add(const void* from, std::size_t size) noexcept {
        if (size)
            std::memcpy(to, from, size);
        to += size;
    }
    template <typename T>
    [[gnu::visibility("hidden")]] void add_number(T number) noexcept {
        add(&number, sizeof(number));
    }
    /// A length, and so many units.
    [[gnu::visibility("hidden")]] void add_counted(const void* from, std::size_t size,
                                                   std::size_t unit = 1) noexcept {
        add_number(static_cast<std::uint16_t>(size / unit));
        add(from, size);
    }
    [[gnu::visibility("hidden")]] void add_text(std::string_view whole) noexcept {
        std::size_t size = whole.size();
        if (size > room)
            size = utf8_prefix(whole.data(), room);
        is_cut |= size < whole.size();
        room -= size;
        add_counted(whole.data(), size);
    }
};

/// How a value is written. `fixed` is the size without what comes from `room`.
template <typename Value>
struct header_value {
    static constexpr std::size_t fixed = sizeof(Value);

    template <typename T, typename Writer>
    static constexpr void describe(Writer& writer) {
        add(writer, number_encoding<Value>(), number_format<T>());
    }
    template <typename T>
    [[gnu::always_inline]] static void put(header_cursor& to, Value value) noexcept {
        to.add_number(value);
    }

    template <typename Writer>
    static constexpr void add(Writer& writer, unsigned encoding, format shown) {
        writer.add(static_cast<char>(encoding | (shown == format::none ? 0 : 0x80)));
        if (shown != format::none)
            writer.add(static_cast<char>(shown));
    }
    template <typename Number>
    static consteval unsigned number_encoding() {
        return static_cast<unsigned>(detail::encoding::number) +
               static_cast<unsigned>(std::countr_zero(sizeof(Number)));
    }
    /// T is the type in the declaration.
    template <typename T>
    static consteval format number_format() {
        if constexpr (std::is_pointer_v<T> || handle_like<T>)
            return format::hexadecimal;
        else if constexpr (std::same_as<T, bool>)
            return format::truth;
        else if constexpr (std::same_as<T, char>)
            return format::character;
        else if constexpr (std::is_floating_point_v<Value>)
            return format::real;
        else
            return std::is_signed_v<Value> ? format::number : format::none;
    }
};

template <encoding Encoding>
struct header_counted {
    static constexpr std::size_t fixed = sizeof(std::uint16_t);

    template <typename T, typename Writer>
    static constexpr void describe(Writer& writer) {
        writer.add(static_cast<char>(Encoding));
    }
};

template <>
struct header_value<text> : header_counted<encoding::text> {
    template <typename T>
    [[gnu::always_inline]] static void put(header_cursor& to, const text& value) noexcept {
        to.add_text(value.view());
    }
};
template <>
struct header_value<far_text> : header_counted<encoding::text> {
    template <typename T>
    [[gnu::always_inline]] static void put(header_cursor& to, const far_text& value) noexcept {
        to.add_text(value.from.view());
    }
};
template <std::size_t Size>
struct header_value<characters<Size>> : header_counted<encoding::text> {
    template <typename T>
    [[gnu::always_inline]] static void put(header_cursor& to,
                                           const characters<Size>& value) noexcept {
        const std::string_view whole = value.from.view();
        const std::size_t length = value.length_of(whole);
        to.is_cut |= length < whole.size();
        to.add_text(whole.substr(0, length));
    }
};

/// An object of a constant size; null has no bytes.
template <std::size_t Size>
struct header_value<object<Size>> : header_counted<encoding::binary> {
    static constexpr std::size_t fixed = sizeof(std::uint16_t) + Size;

    template <typename T>
    [[gnu::always_inline]] static void put(header_cursor& to, object<Size> value) noexcept {
        to.add_counted(value.from, value.from ? Size : 0);
    }
};

template <typename T>
struct element_of;
template <sequence_like T>
struct element_of<T> {
    using type = std::remove_const_t<typename T::value_type>;
};
template <typename T, std::size_t Size>
struct element_of<T[Size]> {
    using type = std::remove_const_t<T>;
};

template <std::size_t Unit>
struct header_value<elements<Unit>> : header_counted<encoding::binary> {
    template <typename T, typename Writer>
    static constexpr void describe(Writer& writer) {
        using element = typename element_of<T>::type;
        if constexpr (byte<element>)
            writer.add(static_cast<char>(encoding::binary));
        else
            header_value<element>::add(
                writer, header_value<element>::template number_encoding<element>() | variable_array,
                header_value<element>::template number_format<element>());
    }
    template <typename T>
    [[gnu::always_inline]] static void put(header_cursor& to, elements<Unit> value) noexcept {
        const std::size_t size = value.size < to.room ? value.size : to.room / Unit * Unit;
        to.is_cut |= size < value.size;
        to.room -= size;
        to.add_counted(value.data, size, Unit);
    }
    static constexpr unsigned variable_array = 0x40;
};

/// A field, or a member of one: its description, and its value.
template <typename T>
struct header_field : header_field<typename present<T>::type> {};
template <typename T>
requires(!optional_like<T>) struct header_field<T> {
    using value = typename recorded<T>::value;
    static constexpr std::size_t fixed = header_value<value>::fixed;

    template <typename Writer>
    static constexpr void describe(Writer& writer, std::string_view name) {
        writer.add(name);
        writer.add('\0');
        header_value<value>::template describe<T>(writer);
    }
    [[gnu::always_inline]] static void put(header_cursor& to, const value& from) {
        header_value<value>::template put<T>(to, from);
    }
};

template <typename Member>
struct header_member;
template <literal Name, auto Pointer, typename T>
struct header_member<recorded_member<member<Name, Pointer, T>>> : header_field<T> {
    static constexpr std::string_view name() { return detail::view_of<Name>(); }
};

/// A struct, whose members are described after it.
template <typename Object, typename... Members>
struct header_value<group<Object, Members...>> {
    static_assert(sizeof...(Members) <= 127, "user_events: a struct has at most 127 members");
    static constexpr std::size_t fixed = (0 + ... + header_member<Members>::fixed);

    template <typename T, typename Writer>
    static constexpr void describe(Writer& writer) {
        writer.add(static_cast<char>(static_cast<unsigned>(encoding::structure) | 0x80));
        writer.add(static_cast<char>(sizeof...(Members)));
        (header_member<Members>::describe(writer, header_member<Members>::name()), ...);
    }
    template <typename T>
    [[gnu::always_inline]] static void put(header_cursor& to, group<Object, Members...> value) {
        (header_member<Members>::put(to, value.from ? Members::make(*value.from)
                                                    : typename Members::value()),
         ...);
    }
};

/// Returns the place of the first `wanted`, or the size. (g++ cannot evaluate
/// std::string_view::find() of a template argument at compile time if it also looks for undefined
/// behaviour.)
constexpr std::size_t place_of(std::string_view text, char wanted) {
    std::size_t at = 0;
    while (at < text.size() && text[at] != wanted)
        at++;
    return at;
}
constexpr bool has(std::string_view text, char wanted) {
    return place_of(text, wanted) < text.size();
}

/// What is constant in the records of an event.
template <literal Name, eventheader::level Level, std::uint64_t Keyword>
struct header_options : no_option {
    static constexpr std::size_t colon = place_of(detail::view_of<Name>(), ':');
    static constexpr std::string_view provider = detail::view_of<Name>().substr(0, colon);
    static constexpr std::string_view event = colon == detail::view_of<Name>().size()
                                                  ? std::string_view()
                                                  : detail::view_of<Name>().substr(colon + 1);
    static constexpr std::uint8_t level = static_cast<std::uint8_t>(Level);

    /// The tracepoint's name and the fields that all tracepoints of this encoding have.
    static constexpr auto write_command = [](auto& writer) {
        writer.add(provider);
        writer.add("_L");
        writer.add_hexadecimal(level);
        writer.add('K');
        writer.add_hexadecimal(Keyword);
        writer.add(" u8 eventheader_flags;u8 version;u16 id;u16 tag;u8 opcode;u8 level");
    };
    using text = made_bytes<write_command>;
    [[gnu::visibility("hidden")]] static constexpr declaration_with_text<text::value.size + 1>
        declared{text::value, nullptr, 0, 0, 0};

    /// Whether decoders split the tracepoint's name into the parts it was made of.
    static constexpr bool has_good_name = is_tag(provider) && provider.size() <= 230 &&
                                          !event.empty() && !has(event, ':') && !has(event, ';') &&
                                          !has(event, '\0');
};

template <typename Options, typename... Fields>
struct header_recorder {
    static constexpr auto write_metadata = [](auto& writer) {
        writer.add(Options::event);
        writer.add('\0');
        (header_field<typename Fields::type>::describe(writer, Fields::name()), ...);
    };
    using metadata = made_bytes<write_metadata>;
    template <typename Field>
    using value_of = typename header_field<typename Field::type>::value;

    struct extension {
        std::uint16_t size, kind;
    };
    static constexpr std::uint16_t is_metadata = 1, is_activity = 2, another_follows = 0x8000;
    static constexpr std::size_t header_size = 8, id_size = sizeof(eventheader::activity_id);
    /// All but text and arrays, with two activities.
    static constexpr std::size_t fixed = header_size + 2 * sizeof(extension) + 2 * id_size +
                                         metadata::value.size +
                                         (0 + ... + header_field<typename Fields::type>::fixed);
    static_assert(fixed <= max_payload,
                  "user_events: the fields and their names have more than 4064 bytes");
    static_assert(sizeof...(Fields) <= 255,
                  "user_events: an event in this encoding has at most 255 fields");

    [[gnu::always_inline]] static void record(const registration& event,
                                              const value_of<Fields>&... values) {
        record_as(event, {}, values...);
    }
    [[gnu::noinline, gnu::visibility("hidden")]] static void
    record_as(const registration& event, const eventheader::activity& what,
              const value_of<Fields>&... values) noexcept(!(is_group<value_of<Fields>> || ...)) {
        std::byte record[index_size + max_payload];
        header_cursor to{record + index_size, max_payload - fixed};
        add_header(to, what);
        (header_field<typename Fields::type>::put(to, values), ...);
        if (to.is_cut)
            event.count_cut();
        event.write(record, static_cast<std::size_t>(to.to - record));
    }

private:
    [[gnu::visibility("hidden")]] static void
    add_header(header_cursor& to, const eventheader::activity& what) noexcept {
        constexpr bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
        const std::uint8_t header[header_size] = {(sizeof(void*) == 8 ? 1 : 0) |
                                                      (is_little ? 2 : 0) | 4,
                                                  0,
                                                  0,
                                                  0,
                                                  0,
                                                  0,
                                                  static_cast<std::uint8_t>(what.opcode),
                                                  Options::level};
        to.add(header, sizeof(header));
        if (what.own) {
            const std::size_t size = what.related ? 2 * id_size : id_size;
            to.add_number(
                extension{static_cast<std::uint16_t>(size), is_activity | another_follows});
            to.add(what.own->bytes, id_size);
            if (what.related)
                to.add(what.related->bytes, id_size);
        }
        to.add_number(extension{static_cast<std::uint16_t>(metadata::value.size), is_metadata});
        to.add(metadata::value.text, metadata::value.size);
    }
};

template <literal Name, eventheader::level Level, std::uint64_t Keyword, typename... Fields>
struct recorder_of<header_options<Name, Level, Keyword>, Fields...> {
    using type = header_recorder<header_options<Name, Level, Keyword>, Fields...>;
};

template <typename Options, typename... Fields>
consteval finding find_header_problem() {
    if (!Options::has_good_name)
        return {problem::bad_header_name, whole_event};
    // An option is known to part_check, but is not allowed here.
    const problem of_parts[] = {(is_field<Fields> || named_list<Fields> ? part_check<Fields>::find()
                                                                        : problem::not_a_part)...,
                                problem::none};
    for (std::size_t i = 0; i < sizeof...(Fields); i++)
        if (of_parts[i] != problem::none)
            return {of_parts[i], i};
    return {};
}

template <literal Name, typename Options, typename... Fields>
struct header_base {
    static constexpr finding found = find_header_problem<Options, Fields...>();
    using type = typename event_base<found, Name, Options, typename fields_of<Fields...>::type,
                                     Fields...>::type;
};

} // namespace detail

namespace eventheader {

/// An event in the EventHeader encoding:
///
///     inline user_events::eventheader::event<"Shop:OrderPlaced", level::information, 0x1,
///         user_events::field<"number", std::uint32_t>,
///         user_events::field<"item", std::string_view>> order_placed;
///
///     order_placed(17, "coffee");
///
/// The tracepoint is `Shop_L4K1`. All events of a provider, level and keyword have the same one.
/// Recording, fields and arguments are those of user_events::event<>, and the same functions are
/// async-signal-safe.
///
/// \tparam Name the provider, a colon, and the event's own name. A provider has letters, digits and
/// underscores
/// \tparam Level how important the event is
/// \tparam Keyword bits that mean what the provider wants
/// \tparam Fields field<>s in order, or a list of them, derived from fields<>
template <literal Name, level Level, std::uint64_t Keyword, typename... Fields>
class [[nodiscard]] event
    : public detail::header_base<Name, detail::header_options<Name, Level, Keyword>,
                                 Fields...>::type {
    using options = detail::header_options<Name, Level, Keyword>;
    using base = typename detail::header_base<Name, options, Fields...>::type;

public:
    [[nodiscard, gnu::always_inline]] event() noexcept : base(options::declared) {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    [[gnu::visibility("hidden")]] ~event() = default;

    /// As for user_events::event<>.
    using base::operator();
    using base::cut;
    using base::error;
    using base::lost;
    template <std::invocable Make>
    [[gnu::always_inline]] void lazily(Make&& make) const {
        base::template lazily_as<event>(std::forward<Make>(make));
    }
    explicit operator bool() const noexcept { return base::enabled(); }

    /// Records the event as a part of an activity, if it is enabled.
    template <typename... Arguments>
    [[gnu::always_inline]] void with(const activity& what, const Arguments&... arguments) const {
        base::call(what, arguments...);
    }
};

} // namespace eventheader
} // namespace USER_EVENTS_NAMESPACE
