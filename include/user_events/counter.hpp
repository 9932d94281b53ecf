// SPDX-License-Identifier: MIT
// Values that change with time, as a track of a trace viewer.
#pragma once

#include "event.hpp"

#include <cstdint>

namespace USER_EVENTS_NAMESPACE {

/// A counter. Tools see an event of this name, with the fields of Perfetto's convention for kernel
/// track events.
///
///     inline user_events::counter<"queue_length"> queue_length;
///     ...
///     queue_length(queue.size());
///
/// \tparam Name the name of the event
template <literal Name>
class counter {
public:
    [[gnu::visibility("hidden")]] counter() noexcept = default;
    counter(const counter&) = delete;
    counter& operator=(const counter&) = delete;
    [[gnu::visibility("hidden")]] ~counter() = default;

    /// Records the value. As for event<>: from any thread, async-signal-safe.
    template <std::integral T>
    requires(!std::same_as<T, bool>) [[gnu::always_inline]] void
    operator()(const T& value, text track_name = Name.view()) const noexcept {
        if (event_) [[unlikely]]
            event_(static_cast<std::int64_t>(value), track_name);
    }

    explicit operator bool() const noexcept { return bool(event_); }
    std::error_code error() const noexcept { return event_.error(); }

private:
    event<Name, field<"counter_value", std::int64_t>, field<"track_name", data_loc_text>> event_;
};

} // namespace USER_EVENTS_NAMESPACE
