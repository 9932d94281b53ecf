// SPDX-License-Identifier: MIT
// Events that are declared in the program's source.
#pragma once

#include "command.hpp"
#include "field.hpp"
#include "payload.hpp"
#include "problem.hpp"
#include "registration.hpp"

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

namespace USER_EVENTS_NAMESPACE {

namespace detail {

/// What the kernel gets of an event: one object, so that the long name of the event's type occurs
/// once among the symbols.
template <std::size_t Size>
struct declaration_with_text : declaration {
    char text[Size];

    template <typename Writer>
    constexpr declaration_with_text(const Writer& writer, void* where, unsigned flag_bits,
                                    unsigned number, std::size_t word_size)
        : declaration{text, where, static_cast<std::uint16_t>(flag_bits),
                      static_cast<std::uint8_t>(number),
                      static_cast<std::uint8_t>(word_size ? word_size : 4)},
          text{} {
        for (std::size_t i = 0; i + 1 < Size; i++)
            text[i] = writer.text[i];
    }
};

template <literal Name, typename Fields>
struct command;
template <literal Name, typename... Fields>
struct command<Name, field_list<Fields...>> {
    template <typename Writer>
    static constexpr Writer write() {
        Writer writer;
        writer.add(view_of<Name>());
        (recorded<typename Fields::type>::describe(writer, field_name{Fields::name()}), ...);
        return writer;
    }
    /// Only counts. The compiler takes long for large arrays.
    static constexpr auto counted = write<command_writer<0, 0>>();
    static constexpr auto written = write<
        command_writer<counted.size <= max_command ? counted.size : max_command, counted.fields>>();
};

/// Hidden, like all data of templates: g++ otherwise makes it unique in the process, and a shared
/// library with such a symbol cannot be unloaded.
template <literal Name, typename... Parts>
struct declared {
    using text = command<Name, typename fields_of<Parts...>::type>;
    using options = typename options_of<Parts...>::type;
    [[gnu::visibility("hidden")]] static constexpr declaration_with_text<text::written.size + 1>
        value{text::written, options::address(), options::flags, options::bit, options::word_size};
};

template <literal Name, typename Options, typename... Fields>
struct whole_check<Name, Options, field_list<Fields...>> {
    static constexpr problem find() {
        using text = command<Name, field_list<Fields...>>;
        using values = recorder<typename recorded<typename Fields::type>::value...>;
        return text::counted.size > max_command      ? problem::long_command
               : text::written.has_duplicate()       ? problem::duplicate_field
               : values::least_payload > max_payload ? problem::large_payload
               : values::located > max_located       ? problem::many_located
               : Options::bit >= 8 * (Options::word_size ? Options::word_size : 4)
                   ? problem::bad_bit
                   : problem::none;
    }
};

/// What puts the records of an event together. eventheader.hpp has another encoding.
template <typename Options, typename... Fields>
struct recorder_of {
    using type = recorder<typename recorded<typename Fields::type>::value...>;
};

/// A class, because clang exports the member templates of templates.
template <typename Event, typename Make>
struct making {
    [[gnu::noinline, gnu::visibility("hidden")]] static void record(const Event& to, Make make) {
        to.record_made(make());
    }
};

template <typename Options, typename... Fields>
class typed_event : registration {
    template <typename, typename>
    friend struct making;

    using values = typename recorder_of<Options, Fields...>::type;

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
            return registration::word().load(std::memory_order_relaxed) >> Options::bit & 1;
    }

    /// By reference, so that nothing is loaded for an event that is not enabled.
    template <typename... Arguments>
    [[gnu::always_inline]] void operator()(const Arguments&... arguments) const
        noexcept(!(std::is_class_v<Arguments> || ...)) {
        if constexpr (!is_good_call<Arguments...>())
            explain<Arguments...>();
        else if (enabled()) [[unlikely]]
            record(arguments...);
    }

    /// lazily() of an event of the type `Event`. The type is a part of the linker name of the
    /// function that records out of line.
    template <typename Event, std::invocable Make>
    [[gnu::always_inline]] void lazily_as(Make&& make) const {
        if constexpr (std::is_void_v<decltype(make())>)
            static_assert(!std::is_void_v<decltype(make())>,
                          "user_events: the function of lazily() returns nothing: return a "
                          "std::tuple with an argument for each field");
        else if (enabled()) [[unlikely]] {
            if constexpr (is_passed_on<Make>)
                making<Event, Make>::record(static_cast<const Event&>(*this), make);
            else
                record_made(make());
        }
    }

    std::error_code error() const noexcept { return registration::error(); }
    std::uint32_t cut() const noexcept { return registration::cut(); }
    std::uint32_t lost() const noexcept { return registration::lost(); }

protected:
    [[gnu::always_inline]] explicit typed_event(const declaration& declared) noexcept
        : registration(declared) {}
    [[gnu::always_inline]] ~typed_event() = default;

    /// Records what the encoding has beside the fields, too.
    template <typename What, typename... Arguments>
    [[gnu::always_inline]] void call(const What& what, const Arguments&... arguments) const {
        if constexpr (!is_good_call<Arguments...>())
            explain<Arguments...>();
        else if (enabled()) [[unlikely]] {
            count_cut_numbers(arguments...);
            values::record_as(*this, what, recorded<typename Fields::type>::make(arguments)...);
        }
    }

private:
    template <typename... Arguments>
    static constexpr bool is_good_call() {
        if constexpr (sizeof...(Arguments) == sizeof...(Fields))
            return (recorded<typename Fields::type>::template accepts<Arguments> && ...);
        else
            return false;
    }

    /// Lets the compiler report what is wrong with a call.
    template <typename... Arguments>
    static void explain() {
        if constexpr (sizeof...(Arguments) == sizeof...(Fields))
            (complain<problem_of_argument<typename Fields::type, Arguments>(), Fields, Arguments>(),
             ...);
        else
            complain<problem::number_of_arguments, Fields...>();
    }
    template <problem What, typename... About>
    static void complain() {
        [[maybe_unused]] report<What, typename readable<About>::type...> reason;
    }

    template <typename... Arguments>
    [[gnu::always_inline]] void count_cut_numbers(const Arguments&... arguments) const {
        if constexpr ((may_be_cut<typename Fields::type, Arguments> || ...))
            if (!(fits<typename Fields::type>(arguments) && ...))
                registration::count_cut();
    }
    template <typename... Arguments>
    [[gnu::always_inline]] void record(const Arguments&... arguments) const {
        count_cut_numbers(arguments...);
        values::record(*this, recorded<typename Fields::type>::make(arguments)...);
    }

    /// Records what a function returned for lazily(): a tuple, or the argument of the only field.
    template <typename Made>
    [[gnu::always_inline]] void record_made(const Made& made) const {
        if constexpr (requires { std::tuple_size<Made>::value; } && !is_only_argument<Made>())
            [&]<std::size_t... At>(std::index_sequence<At...>) {
                this->record_parts(get<At>(made)...);
            }
        (std::make_index_sequence<std::tuple_size<Made>::value>());
        else record_parts(made);
    }
    template <typename Made>
    static consteval bool is_only_argument() {
        if constexpr (sizeof...(Fields) == 1)
            return (recorded<typename Fields::type>::template accepts<Made> && ...);
        else
            return false;
    }

    template <typename... Arguments>
    [[gnu::always_inline]] void record_parts(const Arguments&... arguments) const {
        if constexpr (!is_good_call<Arguments...>())
            explain<Arguments...>();
        else if constexpr (!(recorded<typename Fields::type>::template keeps<Arguments> && ...))
            (complain < recorded<typename Fields::type>::template keeps<Arguments>
                 ? problem::none
                 : problem::lazily_would_cut,
             Fields, Arguments > (), ...);
        else
            record(arguments...);
    }
};

/// The base of an event with a mistake: the compiler reports only the mistake.
template <typename Report>
class wrong_event : Report {
public:
    template <typename... Arguments>
    void operator()(const Arguments&...) const noexcept {}
    template <typename... Arguments>
    void call(const Arguments&...) const noexcept {}
    template <typename Event, typename Make>
    void lazily_as(Make&&) const noexcept {}
    bool enabled() const noexcept { return false; }
    std::error_code error() const noexcept { return {}; }
    std::uint32_t cut() const noexcept { return 0; }
    std::uint32_t lost() const noexcept { return 0; }

protected:
    explicit wrong_event(const declaration&) noexcept {}
};

inline constexpr declaration no_declaration{};

template <finding Found, literal Name, typename Options, typename Fields, typename... Parts>
struct event_base {
    using whole = event_named<unpack<Name>(), typename readable<Parts>::type...>;
    using part = typename part_at<Found.part, Parts..., whole>::type;
    using type = wrong_event<report<Found.what, typename readable<part>::type>>;
};
template <literal Name, typename Options, typename... Fields, typename... Parts>
struct event_base<finding{}, Name, Options, field_list<Fields...>, Parts...> {
    using type = typed_event<Options, Fields...>;
};

template <literal Name, typename... Parts>
struct base_of {
    static constexpr finding found = find_problem<Name, Parts...>();
    using type = typename event_base<found, Name, typename options_of<Parts...>::type,
                                     typename fields_of<Parts...>::type, Parts...>::type;
};

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
/// bytes, payloads that ftrace cannot record. Nothing is printed, and nothing throws but the
/// conversion of an argument by a class of the program, and the function of lazily(): then nothing
/// is recorded. If the event cannot be registered (see error()), it is never enabled.
///
/// All members that record may be called from any thread, in signal handlers, in static
/// constructors and destructors (before the event's constructor and after its destructor they do
/// nothing), and after fork() in the child. They do not change errno. Without a testing::sink, they
/// do not allocate memory, and outside of the kernel wait only to open a lost file again, for about
/// 100 ms at most. Constructors and destructors wait for a mutex and must not be called in signal
/// handlers.
///
/// \tparam Name the name of the event in tracefs: without white space, `/`, `:` and `;`, at most
/// 255 bytes, or 246 with multi_format
/// \tparam Parts field<>s in order or lists of them (see fields<>), and the options
/// persistent, multi_format, bit<> and word<>
template <literal Name, typename... Parts>
class [[nodiscard]] event : public detail::base_of<Name, Parts...>::type {
    using base = typename detail::base_of<Name, Parts...>::type;

    static constexpr const detail::declaration& declared() noexcept {
        if constexpr (detail::base_of<Name, Parts...>::found.what == detail::problem::none)
            return detail::declared<Name, Parts...>::value;
        else
            return detail::no_declaration;
    }

public:
    [[nodiscard, gnu::always_inline]] event() noexcept : base(declared()) {}
    /// For a message in place of many: this constructor does not compile.
    event(const event&) noexcept : base(declared()) {
        static_assert(Name.word(0) == 0,
                      "user_events: an event cannot be copied or moved, because the kernel writes "
                      "into it: keep it in one place, with std::deque for example, or use "
                      "dynamic_event");
    }
    event& operator=(const event&) = delete;
    [[gnu::visibility("hidden")]] ~event() = default;

    /// Records the event, if it is enabled; otherwise costs about as much as a test of a bit. Takes
    /// an argument for each field. The arguments are evaluated in any case: see lazily(). An
    /// integer that its shorter field cannot hold is truncated, and counted by cut().
    using base::operator();

    /// Returns whether the event is recorded at present: by ftrace, perf or a BPF program.
    explicit operator bool() const noexcept { return base::enabled(); }

    /// Calls `make` only if the event is enabled, and records what it returns: a std::tuple with an
    /// argument for each field, or the argument of the only field. What `make` throws is passed on.
    /// An integer in it must not be longer than its field: the compiler does not know whether the
    /// value fits. (A call takes any int, for the sake of literals.)
    template <std::invocable Make>
    [[gnu::always_inline]] void lazily(Make&& make) const {
        // The type with the shorter linker name.
        using named = std::conditional_t<(detail::is_field<Parts> && ...), base, event>;
        base::template lazily_as<named>(std::forward<Make>(make));
    }

    /// \fn error()
    /// Returns why the event is not registered; see user_events::explain(). No error if it is.
    /// retry() tries again. Async-signal-safe.
    using base::error;

    /// \fn cut()
    /// Returns how often a string did not fit into a record of this event, and was cut at the end
    /// of a character of UTF-8; how often an array was cut at the end of an element; and how often
    /// a number did not fit. Async-signal-safe.
    using base::cut;

    /// \fn lost()
    /// Returns how many records of this event could not be written although it was enabled.
    /// Async-signal-safe.
    using base::lost;
};

namespace detail {

/// The name of a member. The compiler's text of this function ends with `Pointer = &order::number]`
/// or, with g++, has more after a semicolon.
template <auto Pointer>
consteval std::string_view name_of_member() {
    std::string_view text = __PRETTY_FUNCTION__;
    text = text.substr(text.find("Pointer = "));
    text = text.substr(0, text.find_first_of(";]"));
    return text.substr(text.rfind(':') + 1);
}
template <auto Pointer>
consteval auto literal_of_member() {
    constexpr std::string_view name = name_of_member<Pointer>();
    quoted<name.size() + 1> copy{};
    for (std::size_t i = 0; i < name.size(); i++)
        copy.characters[i] = name[i];
    return literal(copy.characters);
}

template <auto First, auto...>
struct object_of_members : member_of<First> {};

} // namespace detail

/// An event whose fields are the members of a structure, with their names and types. A call may
/// name the fields, or pass them in order:
///
///     struct order { std::uint32_t number; std::string_view item; };
///     inline user_events::structured_event<"order_placed", &order::number, &order::item>
///         order_placed;
///
///     order_placed({.number = 17, .item = "coffee"});
///     order_placed(17, "coffee");
///     USER_EVENT(order_placed, {.number = count(), .item = "coffee"});
///
/// \tparam Members pointers to the members, in the order of the fields
template <literal Name, auto... Members>
class [[nodiscard]] structured_event
    : public event<Name, field<detail::literal_of_member<Members>(),
                               typename detail::member_of<Members>::type>...> {
    using base = event<Name, field<detail::literal_of_member<Members>(),
                                   typename detail::member_of<Members>::type>...>;

public:
    using base::operator();
    [[gnu::always_inline]] void
    operator()(const typename detail::object_of_members<Members...>::object& values) const {
        base::operator()(values.*Members...);
    }
};

} // namespace USER_EVENTS_NAMESPACE

/// Records an event, as `event(arguments...)` does, but evaluates the arguments only if the event
/// is enabled. Also for counters, and for logs, whose first argument is the level. A program that
/// is compiled with USER_EVENTS_OFF has no code for it; the compiler checks the arguments all the
/// same.
#ifdef USER_EVENTS_OFF
#define USER_EVENT(event, ...)                                                                     \
    do {                                                                                           \
        if (false)                                                                                 \
            (event)(__VA_ARGS__);                                                                  \
    } while (false)
#else
#define USER_EVENT(event, ...)                                                                     \
    do {                                                                                           \
        if (const auto& user_events_event = (event); user_events_event) [[unlikely]]               \
            user_events_event(__VA_ARGS__);                                                        \
    } while (false)
#endif
