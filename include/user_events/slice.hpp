// SPDX-License-Identifier: MIT
// Named stretches of time, and single moments, as tracks of a trace viewer. The fields are those of
// Perfetto's convention for kernel track events, so that Perfetto shows them without configuration.
#pragma once

#include "event.hpp"
#include "text.hpp"

#include <atomic>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <unistd.h>

namespace USER_EVENTS_NAMESPACE {

/// A counter. Tools see an event of the name `Name`, with the fields of Perfetto's convention for
/// kernel track events. The convention has integers only; `user-events export` also shows the
/// others.
///
///     inline user_events::counter<"queue_length"> queue_length;
///     inline user_events::counter<"load", double> load;
///     ...
///     queue_length(queue.size());
///     load(0.75);
///
/// \tparam Name the name of the event
/// \tparam Value the type of its values: std::int64_t, float or double
template <literal Name, typename Value = std::int64_t>
class counter {
    static_assert(std::same_as<Value, std::int64_t> || std::same_as<Value, float> ||
                      std::same_as<Value, double>,
                  "the values of a counter are std::int64_t, float or double");

public:
    [[gnu::visibility("hidden")]] counter() noexcept = default;
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    [[gnu::visibility("hidden")]] ~counter() = default;

    /// Records the value, for the track `track_name`. As for event<>: from any thread,
    /// async-signal-safe. With integers, an unsigned value of 2^63 or more becomes negative, as the
    /// convention has no other field.
    template <typename T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>) [[gnu::always_inline]] void
    operator()(const T& value, text track_name = detail::view_of<Name>()) const noexcept {
        static_assert(std::integral<T> || std::floating_point<Value>,
                      "this counter has integers only: write counter<\"NAME\", double>");
        if (event_) [[unlikely]]
            event_(static_cast<Value>(value), track_name);
    }

    explicit operator bool() const noexcept { return bool(event_); }
    std::error_code error() const noexcept { return event_.error(); }

private:
    event<Name, field<"counter_value", Value>, field<"track_name", data_loc_text>> event_;
};

/// An option of a track: each slice has the place in the source where it begins, in the fields
/// line, function and file.
struct with_place {};

/// An option of a track: slices can be parts of a flow, which the field flow_id tells.
struct with_flow {};

namespace detail {

/// Returns a number other than 0. The first one is random, in each program, each shared library
/// that is loaded, and each child. The process is for a child of clone(), of which the library does
/// not know.
[[gnu::visibility("hidden")]] inline std::uint64_t next_number() noexcept {
    std::uint64_t number = 0, last = the_library.number.load(std::memory_order_relaxed);
    do {
        number = last + 1;
        if (last == 0 && !user_events_random(&number, sizeof(number)))
            number = reinterpret_cast<std::uintptr_t>(&the_library) << 20 | user_events_epoch();
        number += number == 0;
    } while (!the_library.number.compare_exchange_weak(last, number, std::memory_order_relaxed));
    number ^= std::uint64_t{static_cast<std::uint32_t>(getpid())} << 32;
    return number ? number : 1;
}

} // namespace detail

/// A flow. It connects slices that belong together, in any threads and processes: the steps of a
/// request, for example. Trace viewers draw an arrow from each slice of a flow to the next one.
struct flow {
    /// A number other than 0. No other flow of the recording may have the same number.
    std::uint64_t id;

    /// Returns a flow with a number that no other program, shared library or process returns: the
    /// first one is random.
    static flow next() noexcept { return {detail::next_number()}; }
};

namespace detail {

/// An option of all asynchronous tracks: the field scope_id.
struct with_scope {};

/// What options add to a record.
struct slice_facts {
    std::uint64_t scope = 0;
    flow belongs_to{0};
    place from{"", "", 0};
};

/// The fields that an option adds after others.
template <typename Option>
struct track_option {
    static constexpr bool is_known = false;
    template <typename... Fields>
    using after = field_list<Fields...>;
};
template <>
struct track_option<with_scope> {
    static constexpr bool is_known = true;
    template <typename... Fields>
    using after = field_list<Fields..., field<"scope_id", std::uint64_t>>;
};
template <>
struct track_option<with_flow> {
    static constexpr bool is_known = true;
    template <typename... Fields>
    using after = field_list<Fields..., field<"flow_id", std::uint64_t>>;
};
template <>
struct track_option<with_place> {
    static constexpr bool is_known = true;
    template <typename... Fields>
    using after = field_list<Fields..., field<"line", std::uint32_t>,
                             field<"function", std::string_view>, field<"file", std::string_view>>;
};

/// The event with the fields of a list and of options.
template <literal Name, typename List, typename... Options>
struct track_event;
template <literal Name, typename... Fields>
struct track_event<Name, field_list<Fields...>> {
    using type = event<Name, Fields...>;
};
template <literal Name, typename... Fields, typename Option, typename... Rest>
struct track_event<Name, field_list<Fields...>, Option, Rest...>
    : track_event<Name, typename track_option<Option>::template after<Fields...>, Rest...> {};

template <literal Name, typename... Options>
class any_track {
    static_assert((track_option<Options>::is_known && ...),
                  "the options of a track are with_place and with_flow");

public:
    any_track(const any_track&) = delete;
    any_track& operator=(const any_track&) = delete;

    /// As for event<>, like all functions of tracks: from any thread, async-signal-safe.
    explicit operator bool() const noexcept { return bool(event_); }
    std::error_code error() const noexcept { return event_.error(); }

protected:
    [[gnu::visibility("hidden")]] any_track() noexcept = default;
    [[gnu::visibility("hidden")]] ~any_track() = default;

    static constexpr bool has_flow = (std::same_as<Options, with_flow> || ...);

    [[gnu::always_inline]] void record(char type, const text& name, const text& track_name,
                                       const slice_facts& facts) const noexcept {
        add<Options...>(facts, type, name, track_name);
    }

private:
    /// Adds the values of the options, one after the other.
    template <typename... Rest, typename... Values>
    requires(sizeof...(Rest) == 0)
        [[gnu::always_inline]] void add(const slice_facts&,
                                        const Values&... values) const noexcept {
        event_(values...);
    }
    template <typename Option, typename... Rest, typename... Values>
    [[gnu::always_inline]] void add(const slice_facts& facts,
                                    const Values&... values) const noexcept {
        if constexpr (std::same_as<Option, with_scope>)
            add<Rest...>(facts, values..., facts.scope);
        else if constexpr (std::same_as<Option, with_flow>)
            add<Rest...>(facts, values..., facts.belongs_to.id);
        else if constexpr (std::same_as<Option, with_place>)
            add<Rest...>(facts, values..., facts.from.line, facts.from.function, facts.from.file);
        else
            add<Rest...>(facts, values...);
    }

    typename track_event<
        Name,
        // The tool knows slices by these fields: export/tracks.cpp.
        field_list<field<"track_event_type", char>, field<"slice_name", data_loc_text>,
                   field<"track_name", data_loc_text>>,
        Options...>::type event_;
};

} // namespace detail

/// Tracks of slices. Tools see an event of the name `Name`. By default the slices of each thread
/// are a track of their own.
///
///     inline user_events::track<"my_program"> work;
///     ...
///     const user_events::slice parsing(work, "parse");
///
/// \tparam Name the name of the event
/// \tparam Options with_place, with_flow, in any order: records become longer by their fields
template <literal Name, typename... Options>
class track : public detail::any_track<Name, Options...> {
    using base = detail::any_track<Name, Options...>;

public:
    [[gnu::visibility("hidden")]] track() noexcept = default;
    [[gnu::visibility("hidden")]] ~track() = default;

    /// Records that a slice begins. Slices of one track nest: end() ends the last one.
    [[gnu::always_inline]] void begin(text name, text track_name = {},
                                      const place& from = place::here()) const noexcept {
        base::record('B', name, track_name, {.from = from});
    }
    [[gnu::always_inline]] void begin(text name, flow belongs_to, text track_name = {},
                                      const place& from = place::here()) const noexcept {
        static_assert(base::has_flow, "user_events: this track has no flows: declare it with the "
                                      "option with_flow");
        base::record('B', name, track_name, {.belongs_to = belongs_to, .from = from});
    }
    [[gnu::always_inline]] void end(text track_name = {}) const noexcept {
        base::record('E', text(), track_name, {});
    }
    /// Records a moment.
    [[gnu::always_inline]] void instant(text name, text track_name = {},
                                        const place& from = place::here()) const noexcept {
        base::record('I', name, track_name, {.from = from});
    }
};

namespace detail {

/// Text that is used after the call. A temporary string does not live so long.
struct lasting_text {
    text kept;

    lasting_text() noexcept = default;
    template <typename T>
    requires std::convertible_to < const std::remove_reference_t<T>
    &, text >
           // NOLINTNEXTLINE(google-explicit-constructor): programs pass strings.
           [[gnu::always_inline]] lasting_text(T&& from) : kept(from) {
        static_assert(std::is_lvalue_reference_v<T> || std::is_trivially_copyable_v<T>,
                      "user_events: the slice uses the name of its track until its end, but this "
                      "string is a temporary object: give the string a name");
    }
};

} // namespace detail

/// A slice that begins with the object and ends with it. If the track is not recorded at the
/// beginning, the end is not recorded either. Construct and destroy it in one thread.
template <literal Name, typename... Options>
class [[nodiscard]] slice {
public:
    /// `name` is used at the beginning only. `track_name` and the track must exist until the end:
    /// a temporary string does not compile.
    [[nodiscard, gnu::always_inline]] explicit slice(const track<Name, Options...>& where,
                                                     text name,
                                                     detail::lasting_text track_name = {},
                                                     const place& from = place::here()) noexcept
        : where_(where ? &where : nullptr), track_name_(track_name.kept) {
        if (where_) [[unlikely]]
            where_->begin(name, track_name_, from);
    }
    /// For tracks with the option with_flow.
    [[nodiscard, gnu::always_inline]] explicit slice(const track<Name, Options...>& where,
                                                     text name, flow belongs_to,
                                                     detail::lasting_text track_name = {},
                                                     const place& from = place::here()) noexcept
        : where_(where ? &where : nullptr), track_name_(track_name.kept) {
        if (where_) [[unlikely]]
            where_->begin(name, belongs_to, track_name_, from);
    }
    slice(const slice&) = delete;
    slice& operator=(const slice&) = delete;
    [[gnu::visibility("hidden")]] ~slice() {
        if (where_) [[unlikely]]
            where_->end(track_name_);
    }

private:
    const track<Name, Options...>* where_;
    text track_name_;
};

namespace detail {
struct wrong_track {};
} // namespace detail

/// For messages: of the other kind of track.
template <literal Name>
class slice<Name, detail::wrong_track> {
    static_assert(Name.word(0) == 0,
                  "user_events: the slices of an async_track<> are of the class async_slice");

public:
    explicit slice(const auto&...) noexcept {}
};
template <literal Name, typename... Options>
class async_track;
template <literal Name, typename... Options, typename... Rest>
slice(const async_track<Name, Options...>&, const Rest&...) -> slice<Name, detail::wrong_track>;

/// Tracks of slices that begin in one thread and end in another, or overlap: requests, for example,
/// or what a coroutine does. Tools show the slices of each number as a track of their own. All
/// programs that register this event share the numbers: see next_id().
///
///     inline user_events::async_track<"my_requests"> requests;
///     ...
///     requests.begin(request.id, "fetch");
///
/// \tparam Name the name of the event
/// \tparam Options as for track<>
template <literal Name, typename... Options>
class async_track : public detail::any_track<Name, detail::with_scope, Options...> {
    using base = detail::any_track<Name, detail::with_scope, Options...>;

public:
    [[gnu::visibility("hidden")]] async_track() noexcept = default;
    [[gnu::visibility("hidden")]] ~async_track() = default;

    /// As for track<>, for the track of this number.
    [[gnu::always_inline]] void begin(std::uint64_t id, text name, text track_name = {},
                                      const place& from = place::here()) const noexcept {
        base::record('B', name, track_name, {.scope = id, .from = from});
    }
    [[gnu::always_inline]] void begin(std::uint64_t id, text name, flow belongs_to,
                                      text track_name = {},
                                      const place& from = place::here()) const noexcept {
        static_assert(base::has_flow, "user_events: this track has no flows: declare it with the "
                                      "option with_flow");
        base::record('B', name, track_name, {.scope = id, .belongs_to = belongs_to, .from = from});
    }
    [[gnu::always_inline]] void end(std::uint64_t id, text track_name = {}) const noexcept {
        base::record('E', text(), track_name, {.scope = id});
    }
    [[gnu::always_inline]] void instant(std::uint64_t id, text name, text track_name = {},
                                        const place& from = place::here()) const noexcept {
        base::record('I', name, track_name, {.scope = id, .from = from});
    }

    /// Returns a number that is as unique as that of flow::next().
    static std::uint64_t next_id() noexcept { return detail::next_number(); }
};

/// A slice that begins with the object, and ends with end() or with the object that it has been
/// moved to, in any thread. If the track is not recorded at the beginning, the end is not recorded
/// either.
template <literal Name, typename... Options>
class [[nodiscard]] async_slice {
public:
    /// The name is used at the beginning only. The track must exist until the end.
    [[nodiscard,
      gnu::always_inline]] explicit async_slice(const async_track<Name, Options...>& where,
                                                text name,
                                                const place& from = place::here()) noexcept
        : where_(where ? &where : nullptr) {
        if (where_) [[unlikely]]
            where_->begin(id_ = detail::next_number(), name, text(), from);
    }
    /// For tracks with the option with_flow.
    [[nodiscard,
      gnu::always_inline]] explicit async_slice(const async_track<Name, Options...>& where,
                                                text name, flow belongs_to,
                                                const place& from = place::here()) noexcept
        : where_(where ? &where : nullptr) {
        if (where_) [[unlikely]]
            where_->begin(id_ = detail::next_number(), name, belongs_to, text(), from);
    }
    async_slice(async_slice&& other) noexcept : where_(other.where_), id_(other.id_) {
        other.where_ = nullptr;
    }
    async_slice& operator=(async_slice&& other) noexcept {
        if (this != &other) {
            end();
            where_ = other.where_;
            id_ = other.id_;
            other.where_ = nullptr;
        }
        return *this;
    }
    [[gnu::visibility("hidden")]] ~async_slice() { end(); }

    /// Ends the slice now.
    [[gnu::visibility("hidden")]] void end() noexcept {
        if (where_) [[unlikely]]
            where_->end(id_);
        where_ = nullptr;
    }
    /// The number of the slice's track; 0 if the slice is not recorded.
    std::uint64_t id() const noexcept { return id_; }

private:
    const async_track<Name, Options...>* where_;
    std::uint64_t id_ = 0;
};

template <literal Name>
class async_slice<Name, detail::wrong_track> {
    static_assert(Name.word(0) == 0, "user_events: the slices of a track<> are of the class slice");

public:
    explicit async_slice(const auto&...) noexcept {}
};
template <literal Name, typename... Options, typename... Rest>
async_slice(const track<Name, Options...>&, const Rest&...)
    -> async_slice<Name, detail::wrong_track>;

} // namespace USER_EVENTS_NAMESPACE
