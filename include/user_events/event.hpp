// SPDX-License-Identifier: MIT
// Events that are declared in the program's source.
#pragma once

#include "command.hpp"
#include "field.hpp"
#include "literal.hpp"
#include "payload.hpp"
#include "registration.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace USER_EVENTS_NAMESPACE {

/// An option of an event: the event stays when it has no users any more, until it is deleted. The
/// program needs CAP_PERFMON or CAP_SYS_ADMIN, otherwise error() is EPERM.
struct persistent {};

/// An option of an event: other programs may register events of the same name with other fields.
/// The event is in the subsystem user_events_multi, with a dot and a number after its name.
struct multi_format {};

/// An option of an event: the number of the enable bit in its word. 0 is the least significant one.
template <unsigned Number>
struct bit {};

/// An option of an event: the word of the enable bit, a variable of static storage duration that
/// the event shares with others. It has 4 or 8 bytes, or is a std::atomic of that size. Each event
/// that uses the variable needs another bit<> of it. The program must not change these bits, and
/// may change others atomically.
template <auto& Variable>
struct word {};

namespace detail {

template <typename T>
inline constexpr bool is_field = false;
template <literal Name, typename T>
inline constexpr bool is_field<field<Name, T>> = true;

/// The enable bit, and the flags of the registration.
template <typename Option>
struct option {
    static constexpr bool is_known = false;
};
struct known_option {
    static constexpr bool is_known = true;
    static constexpr unsigned bit = 0;
    static constexpr unsigned flags = 0;
    static constexpr std::size_t word_size = 0;
};
template <>
struct option<persistent> : known_option {
    static constexpr unsigned flags = USER_EVENTS_PERSIST;
};
template <>
struct option<multi_format> : known_option {
    static constexpr unsigned flags = USER_EVENTS_MULTI_FORMAT;
};
template <unsigned Number>
struct option<bit<Number>> : known_option {
    static constexpr unsigned bit = Number;
};
template <auto& Variable>
struct option<word<Variable>> : known_option {
    static constexpr std::size_t word_size = sizeof(Variable);
    static_assert(word_size == 4 || word_size == 8,
                  "user_events: the word of an enable bit has 4 or 8 bytes");
    static constexpr void* address() {
        return const_cast<void*>(static_cast<const volatile void*>(&Variable));
    }
};

template <typename... Fields>
struct field_list {
    static constexpr std::size_t count = sizeof...(Fields);
    /// The sizes of all fixed fields and locations.
    static constexpr std::size_t size = (0 + ... + Fields::size);
    static constexpr std::size_t located = (0 + ... + (Fields::is_located ? 1 : 0));

    /// Whether two fields have the same name.
    static constexpr bool has_duplicate() {
        const std::string_view names[] = {Fields::name()..., ""};
        for (std::size_t i = 0; i < count; i++)
            for (std::size_t j = i + 1; j < count; j++)
                if (names[i] == names[j])
                    return true;
        return false;
    }
};

/// The fields of a list that also has options.
template <typename List, typename... Parts>
struct fields_among {
    using type = List;
};
template <typename... Fields, typename Part, typename... Rest>
struct fields_among<field_list<Fields...>, Part, Rest...>
    : fields_among<
          std::conditional_t<is_field<Part>, field_list<Fields..., Part>, field_list<Fields...>>,
          Rest...> {};

/// The options of a list that also has fields.
template <typename... Parts>
struct options_among {
    static constexpr unsigned bit = 0, flags = 0;
    static constexpr std::size_t word_size = 0;
    static constexpr void* address() { return nullptr; }
};
template <typename Part, typename... Rest>
struct options_among<Part, Rest...> : options_among<Rest...> {};
template <typename Part, typename... Rest>
requires(!is_field<Part>) struct options_among<Part, Rest...> : options_among<Rest...> {
    static_assert(option<Part>::is_known,
                  "user_events: this is neither a field<> nor an option of an event");
    using rest = options_among<Rest...>;
    static constexpr unsigned bit = option<Part>::bit | rest::bit;
    static constexpr unsigned flags = option<Part>::flags | rest::flags;
    static constexpr std::size_t word_size = option<Part>::word_size + rest::word_size;
    static constexpr void* address() {
        if constexpr (requires { option<Part>::address(); })
            return option<Part>::address();
        else
            return rest::address();
    }
};

/// The command of an event.
template <literal Name, typename Fields>
struct command;
template <literal Name, typename... Fields>
struct command<Name, field_list<Fields...>> {
    static constexpr auto write() {
        command_writer<max_command> writer;
        writer.add(Name.view());
        [[maybe_unused]] const char* separator = " ";
        ((writer.add(separator), Fields::describe(writer), separator = ";"), ...);
        return writer;
    }
    static constexpr std::size_t size = write().size;
    static_assert(size <= max_command,
                  "user_events: the event's name and fields have more than 511 bytes as text");

    template <std::size_t... At>
    static constexpr auto trim(std::index_sequence<At...>) {
        const auto writer = write();
        return std::array<char, sizeof...(At) + 1>{writer.text[At]..., '\0'};
    }
    /// Hidden, like all data of templates: g++ otherwise makes it unique in the process, and a
    /// shared library with such a symbol cannot be unloaded.
    [[gnu::visibility("hidden")]] static constexpr auto text =
        trim(std::make_index_sequence < size <= max_command ? size : 0 > ());
};

/// Says which field an argument does not fit: the compiler names the parameters of the template.
template <typename Field, typename Argument>
struct argument_of {
    static_assert(is_accepted<Argument, typename Field::argument>,
                  "user_events: the argument does not fit the field: its type is another one, or "
                  "its value may not fit");
    static constexpr bool is_checked = true;
};

/// The same for what lazily() got.
template <typename Field, typename Made>
struct made_for {
    static_assert(is_kept<Made, typename Field::argument>,
                  "user_events: lazily() would cut the number: return a type that fits the field");
    static constexpr bool is_checked = true;
};

template <typename Fields, typename... Arguments>
inline constexpr bool all_accepted = false;
template <typename... Fields, typename... Arguments>
requires(
    sizeof...(Fields) ==
    sizeof...(Arguments)) inline constexpr bool all_accepted<field_list<Fields...>, Arguments...> =
    (is_accepted<Arguments, typename Fields::argument> && ...);

template <typename Options, typename Command, typename Fields>
class typed_event;

template <typename Options, typename Command, typename... Fields>
class typed_event<Options, Command, field_list<Fields...>> {
    using list = field_list<Fields...>;

public:
    [[gnu::always_inline]] bool enabled() const noexcept {
        if constexpr (Options::word_size == 8)
            return __atomic_load_n(static_cast<std::uint64_t*>(Options::address()),
                                   __ATOMIC_RELAXED) >>
                       Options::bit &
                   1;
        else if constexpr (Options::word_size == 4)
            return __atomic_load_n(static_cast<std::uint32_t*>(Options::address()),
                                   __ATOMIC_RELAXED) >>
                       Options::bit &
                   1;
        else
            return registration_.word().load(std::memory_order_relaxed) >> Options::bit & 1;
    }

    [[gnu::always_inline]] void operator()(typename Fields::argument... arguments) const noexcept {
        if (enabled()) [[unlikely]]
            record(arguments...);
    }

    /// Arguments that do not fit: explains why.
    template <typename... Arguments>
    requires(!all_accepted<list, std::remove_cvref_t<Arguments>...>) void
    operator()(Arguments&&...) const noexcept {
        static_assert(sizeof...(Arguments) == sizeof...(Fields),
                      "user_events: an event takes as many arguments as it has fields");
        if constexpr (sizeof...(Arguments) == sizeof...(Fields))
            static_assert((argument_of<Fields, std::remove_cvref_t<Arguments>>::is_checked && ...));
    }

    template <std::invocable Make>
    [[gnu::always_inline]] void lazily(Make&& make) const noexcept(noexcept(make())) {
        // Make is a reference if the function object has a name.
        if (enabled()) [[unlikely]]
            make_and_record<std::conditional_t<std::is_trivially_copyable_v<Make>, Make, Make&>>(
                make);
    }

    std::error_code error() const noexcept { return registration_.error(); }
    std::uint32_t cut() const noexcept { return registration_.cut(); }
    std::uint32_t lost() const noexcept { return registration_.lost(); }

protected:
    [[gnu::visibility("hidden")]] typed_event() noexcept : registration_(declared) {}
    [[gnu::visibility("hidden")]] ~typed_event() = default;

private:
    /// Out of line, as record() is. A small temporary function object is passed in registers, so
    /// that nothing is stored on the stack for an event that is not enabled. One with a name is not
    /// copied, because its state may change.
    template <typename Make>
    [[gnu::noinline, gnu::visibility("hidden")]] void make_and_record(Make make) const
        noexcept(noexcept(make())) {
        record_made(make());
    }

    /// Records what a function returned for lazily(): a tuple, or the argument of the only field.
    template <typename Made>
    [[gnu::visibility("hidden")]] void record_made(const Made& made) const noexcept {
        if constexpr (requires { std::tuple_size<Made>::value; } && !all_accepted<list, Made>)
            std::apply([this](const auto&... parts) { this->record_parts(parts...); }, made);
        else
            record_parts(made);
    }

    template <typename... Arguments>
    [[gnu::visibility("hidden")]] void record_parts(const Arguments&... arguments) const noexcept {
        if constexpr (all_accepted<list, Arguments...>) {
            static_assert((made_for<Fields, Arguments>::is_checked && ...));
            record(convert<typename Fields::argument>(arguments)...);
        } else {
            (*this)(arguments...);
        }
    }

    /// is_accepted and is_kept have judged the conversion. The compiler need not warn about it
    /// again.
    template <typename To, typename From>
    static decltype(auto) convert(const From& from) noexcept {
        if constexpr (std::is_arithmetic_v<From> && std::is_arithmetic_v<To>)
            return static_cast<To>(from);
        else
            return (from);
    }

    /// Out of line, so that the code around an event stays small. Without a call, so that no
    /// registers need to be saved, if the lengths of the texts are known.
    [[gnu::noinline, gnu::visibility("hidden")]] void
    record(typename Fields::argument... arguments) const noexcept {
        if (!(is_measured(arguments) && ...)) [[unlikely]]
            return measure_and_record(arguments...);
        constexpr std::size_t count = list::located;
        std::byte buffer[index_size + list::size + (count ? most_copied : 0)];
        bytes data[count + 1];
        [[maybe_unused]] bytes* next_data = data;
        [[maybe_unused]] std::size_t place = 0;
        (add_field<Fields>(buffer + index_size, place, next_data, arguments), ...);
        if constexpr (count > 0)
            write_located(registration_, buffer, list::size, locations.data(), data, count);
        else
            registration_.write(buffer, sizeof(buffer));
    }
    [[gnu::noinline, gnu::visibility("hidden")]] void
    measure_and_record(typename Fields::argument... arguments) const noexcept {
        record(measured(arguments)...);
    }

    template <typename Field, typename Argument>
    [[gnu::always_inline]] void add_field(std::byte* payload, std::size_t& place, bytes*& next_data,
                                          const Argument& argument) const noexcept {
        if constexpr (Field::is_located)
            *next_data++ = Field::recorded::data(argument);
        else if (Field::recorded::store(payload + place, argument))
            registration_.count_cut();
        place += Field::size;
    }

    /// The locations among the fields.
    [[gnu::visibility("hidden")]] static constexpr auto locations = [] {
        std::array<location_of_field, list::located + 1> all{};
        [[maybe_unused]] std::size_t next = 0, place = 0;
        (
            [&] {
                if constexpr (Fields::is_located)
                    all[next++] = {static_cast<std::uint16_t>(place), Fields::recorded::is_text,
                                   Fields::recorded::is_relative};
                place += Fields::size;
            }(),
            ...);
        return all;
    }();

    [[gnu::visibility("hidden")]] static constexpr declaration declared{
        Command::text.data(), Options::address(), Options::flags, Options::bit,
        Options::word_size ? Options::word_size : 4};

    registration registration_;
};

template <literal Name, typename... Parts>
using event_base = typed_event<options_among<Parts...>,
                               command<Name, typename fields_among<field_list<>, Parts...>::type>,
                               typename fields_among<field_list<>, Parts...>::type>;

} // namespace detail

/// An event, declared once:
///
///     inline user_events::event<"order_placed",
///         user_events::field<"number", std::uint32_t>,
///         user_events::field<"item", std::string_view>> order_placed;
///
///     order_placed(17, "coffee");
///
/// The constructor registers the event with the kernel, and the destructor unregisters it. An event
/// can be a variable at namespace scope, a static variable of a function, or a member. It cannot be
/// copied or moved, because the kernel writes the enable bit into it.
///
/// What the kernel would not accept does not compile: names, fields, commands of more than 511
/// bytes, payloads that ftrace cannot record. Nothing throws, and nothing is printed. If the event
/// cannot be registered (see error()), it is never enabled.
///
/// All members that record may be called from any thread, in signal handlers, in static
/// constructors and destructors (before the event's constructor and after its destructor they do
/// nothing), and after fork() in the child. They do not allocate memory, do not wait for a lock,
/// and do not change errno. Constructors and destructors wait for a mutex and must not be called in
/// signal handlers.
///
/// \tparam Name the name of the event in tracefs: without white space, `/`, `:` and `;`, at most
/// 255 bytes \tparam Parts field<>s in order, and the options persistent, multi_format, bit<> and
/// word<>
template <literal Name, typename... Parts>
class [[nodiscard]] event : public detail::event_base<Name, Parts...> {
    using base = detail::event_base<Name, Parts...>;
    using fields = typename detail::fields_among<detail::field_list<>, Parts...>::type;
    using options = detail::options_among<Parts...>;

    static_assert(detail::is_event_name(Name.view()),
                  "user_events: the name of an event is empty, '.', '..', 'enable' or 'filter', or "
                  "contains white space, a control character, '/', ':' or ';'");
    static_assert(Name.view().size() +
                          (options::flags & USER_EVENTS_MULTI_FORMAT ? detail::max_suffix : 0) <=
                      detail::max_name,
                  "user_events: the name of an event is too long for a file name");
    static_assert(!fields::has_duplicate(), "user_events: two fields have the same name");
    static_assert(fields::size <= max_payload,
                  "user_events: the fields have more bytes than ftrace can record");
    static_assert(fields::located <= detail::max_located, "user_events: too many fields");
    static_assert(options::bit < 8 * (options::word_size ? options::word_size : 4),
                  "user_events: the number of the enable bit is too large for its word");

public:
    [[nodiscard, gnu::visibility("hidden")]] event() noexcept = default;
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    [[gnu::visibility("hidden")]] ~event() = default;

    /// Records the event, if it is enabled; otherwise costs a load, a test and a branch. Takes an
    /// argument for each field. The arguments are evaluated in any case: see lazily().
    using base::operator();

    /// Returns whether the event is recorded at present: by ftrace, perf or a BPF program.
    explicit operator bool() const noexcept { return base::enabled(); }

    /// \fn lazily(make)
    /// Calls `make` only if the event is enabled, and records what it returns: a std::tuple with an
    /// argument for each field, or the argument of the only field. What `make` throws is passed on.
    /// An integer must not be longer than its field, because its value is known only later.
    using base::lazily;

    /// \fn error()
    /// Returns why the event is not registered; see user_events::category(). No error if it is.
    /// retry() tries again. Async-signal-safe.
    using base::error;

    /// \fn cut()
    /// Returns how often a string did not fit into a record of this event, and was cut at the end
    /// of a character of UTF-8. Async-signal-safe.
    using base::cut;

    /// \fn lost()
    /// Returns how many records of this event could not be written although it was enabled.
    /// Async-signal-safe.
    using base::lost;
};

} // namespace USER_EVENTS_NAMESPACE
