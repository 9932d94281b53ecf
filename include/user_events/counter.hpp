// SPDX-License-Identifier: MIT
// Values that change with time, as a track of a trace viewer.
#pragma once

#include "event.hpp"

#include <concepts>
#include <cstdint>
#include <type_traits>

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
    // The tool knows counters by these fields: export/tracks.cpp.
    event<Name, field<"counter_value", Value>, field<"track_name", data_loc_text>> event_;
};

} // namespace USER_EVENTS_NAMESPACE
