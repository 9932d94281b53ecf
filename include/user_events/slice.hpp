// SPDX-License-Identifier: MIT
// Named stretches of time, and single moments, as tracks of a trace viewer. The fields are those of
// Perfetto's convention for kernel track events, so that Perfetto shows them without configuration.
#pragma once

#include "event.hpp"

#include <atomic>
#include <cstdint>
#include <string_view>
#include <unistd.h>

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

/// Tracks of slices that begin in one thread and end in another, or overlap: requests, for example,
/// or what a coroutine does. Tools show the slices of each number as a track of their own. The
/// numbers are those of the whole system: next_id() makes some that other processes do not make.
///
///     inline user_events::async_track<"my_requests"> requests;
///     ...
///     requests.begin(request.id, "fetch");
///
/// \tparam Name the name of the event
template <literal Name>
class async_track {
public:
    [[gnu::visibility("hidden")]] async_track() noexcept = default;
    async_track(const async_track&) = delete;
    async_track& operator=(const async_track&) = delete;
    [[gnu::visibility("hidden")]] ~async_track() = default;

    /// As for track<>, for the track of this number.
    void begin(std::uint64_t id, text name, text track_name = {}) const noexcept {
        event_('B', name, track_name, id);
    }
    void end(std::uint64_t id, text track_name = {}) const noexcept {
        event_('E', text(), track_name, id);
    }
    void instant(std::uint64_t id, text name, text track_name = {}) const noexcept {
        event_('I', name, track_name, id);
    }

    explicit operator bool() const noexcept { return bool(event_); }
    std::error_code error() const noexcept { return event_.error(); }

    /// Returns a number: the process, and how many calls there were for this track.
    [[gnu::visibility("hidden")]] static std::uint64_t next_id() noexcept {
        static constinit std::atomic<std::uint32_t> count{0};
        return std::uint64_t{static_cast<std::uint32_t>(getpid())} << 32 |
               (count.fetch_add(1, std::memory_order_relaxed) + 1);
    }

private:
    event<Name, field<"track_event_type", char>, field<"slice_name", data_loc_text>,
          field<"track_name", data_loc_text>, field<"scope_id", std::uint64_t>>
        event_;
};

/// A slice that begins with the object, and ends with end() or with the object that it has been
/// moved to, in any thread. If the track is not recorded at the beginning, the end is not recorded
/// either.
template <literal Name>
class [[nodiscard]] async_slice {
public:
    /// The name is used at the beginning only. The track must exist until the end.
    [[nodiscard]] explicit async_slice(const async_track<Name>& where, text name) noexcept
        : where_(where ? &where : nullptr) {
        if (where_) [[unlikely]]
            where_->begin(id_ = async_track<Name>::next_id(), name);
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
    const async_track<Name>* where_;
    std::uint64_t id_ = 0;
};

} // namespace USER_EVENTS_NAMESPACE
