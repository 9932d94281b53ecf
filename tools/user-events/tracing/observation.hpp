// SPDX-License-Identifier: GPL-2.0-or-later
// What a command reads records from: an instance of its own, or one that is mounted for it.
#pragma once

#include "tracing/buffers.hpp"
#include "tracing/following.hpp"
#include "tracing/mounted.hpp"
#include "tracing/tracefs.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tool::tracing {

/// In a temporary instance, the object records what is wanted, until the end of its lifetime. In a
/// mounted one, others choose what is recorded.
class observation {
public:
    /// Of the instance that is mounted in `directory`, or if that is empty, of a temporary one with
    /// buffers of this size.
    observation(const std::string& directory, std::uint64_t buffer_size, clock needed)
        : in_(directory.empty() ? instance::temporary() : open_mounted(directory, needed)) {
        if (!in_.is_mounted())
            set_buffer_size(in_, buffer_size);
    }
    /// Of an instance that a killed process has left, or that was mounted for it.
    explicit observation(instance in) : in_(std::move(in)) {}

    const instance& in() const noexcept { return in_; }

    void start(const wanted_events& wanted) {
        if (in_.is_mounted())
            return;
        following_.emplace(in_, wanted);
        in_.write("tracing_on", "1");
    }
    /// To be called every now and then.
    void update() {
        if (following_)
            following_->update();
    }
    void stop() { following_.reset(); }
    /// As following::require_all().
    void require_all() {
        if (following_)
            following_->require_all();
    }
    /// Leaves a temporary instance with its records and its events, which say what formats there
    /// are.
    void leave() {
        if (in_.is_mounted())
            return;
        (void)in_.try_write("tracing_on", "0");
        if (following_)
            following_->release();
        in_.leave();
    }

private:
    instance in_;
    std::optional<following> following_;
};

} // namespace tool::tracing
