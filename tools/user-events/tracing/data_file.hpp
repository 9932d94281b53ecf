// SPDX-License-Identifier: GPL-2.0-or-later
// The file that events are registered with and written to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tool::tracing {

/// user_events_data or the device. The functions throw text::failure, with a remedy.
class data_file {
public:
    data_file();
    data_file(const data_file&) = delete;
    data_file& operator=(const data_file&) = delete;
    ~data_file();

    /// Registers an event, given as `NAME FIELDS`, for the lifetime of this object. Returns its
    /// write index.
    std::uint32_t add(const std::string& command, bool persistent);
    /// Whether the event that was added last is recorded.
    bool is_enabled() const noexcept { return __atomic_load_n(&word_, __ATOMIC_RELAXED) & 1; }
    /// Makes a record, unless the event is disabled.
    void write(std::uint32_t index, std::span<const std::byte> payload);

    /// Returns whether the kernel knew the registration of the last add().
    bool unregister() noexcept;

private:
    int file_;
    /// The kernel sets bit 0.
    std::uint32_t word_ = 0;
    bool added_ = false;
};

/// Deletes all events of the group "default" that are registered with this name. Returns 0 or an
/// errno.
int try_delete(const std::string& name);

} // namespace tool::tracing
