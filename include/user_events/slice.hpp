// SPDX-License-Identifier: MIT
// Named stretches of time, and single moments, as tracks of a trace viewer. The fields are those of
// Perfetto's convention for kernel track events, so that Perfetto shows them without configuration.
#pragma once

#include "event.hpp"

#include <string_view>

namespace USER_EVENTS_NAMESPACE {

/// Tracks of slices. Tools see an event of this name. By default the slices of each thread are a
/// track of their own.
///
///     inline user_events::track<"my_program"> work;
///     ...
///     const user_events::slice parsing(work, "parse");
///
/// \tparam Name the name of the event
template <literal Name>
class track {
public:
    [[gnu::visibility("hidden")]] track() noexcept = default;
    track(const track&) = delete;
    track& operator=(const track&) = delete;
    [[gnu::visibility("hidden")]] ~track() = default;

    /// Records that a slice begins. Slices of one track nest: end() ends the last one.
    void begin(text name, text track_name = {}) const noexcept { event_('B', name, track_name); }
    void end(text track_name = {}) const noexcept { event_('E', text(), track_name); }
    /// Records a moment.
    void instant(text name, text track_name = {}) const noexcept { event_('I', name, track_name); }

    /// As for event<>, like the functions above: from any thread, async-signal-safe.
    explicit operator bool() const noexcept { return bool(event_); }
    std::error_code error() const noexcept { return event_.error(); }

private:
    event<Name, field<"track_event_type", char>, field<"slice_name", data_loc_text>,
          field<"track_name", data_loc_text>>
        event_;
};

/// A slice that begins with the object and ends with it. If the track is not recorded at the
/// beginning, the end is not recorded either. Construct and destroy it in one thread.
template <literal Name>
class [[nodiscard]] slice {
public:
    /// The texts are used at the beginning only; the name of the track must exist until the end.
    [[nodiscard]] explicit slice(const track<Name>& where, text name, text track_name = {}) noexcept
        : where_(where ? &where : nullptr), track_name_(track_name) {
        if (where_) [[unlikely]]
            where_->begin(name, track_name_);
    }
    slice(const slice&) = delete;
    slice& operator=(const slice&) = delete;
    [[gnu::visibility("hidden")]] ~slice() {
        if (where_) [[unlikely]]
            where_->end(track_name_);
    }

private:
    const track<Name>* where_;
    text track_name_;
};

} // namespace USER_EVENTS_NAMESPACE
