// SPDX-License-Identifier: GPL-2.0-or-later
// The machine of a recording and its clocks, see appended_list.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tool::recording {

/// What `user-events record` writes about the machine.
struct machine {
    /// The kernel's boot_id, which no other machine has, nor this one after a reboot.
    std::string boot;
    /// What to add to CLOCK_MONOTONIC to get the time of day, when the recording began and when it
    /// ended, in nanoseconds. They differ by what the time of day was set.
    std::int64_t first_offset = 0, last_offset = 0;
};

/// Empty if the boot is not known.
std::string to_text(const machine& machine);

/// Finds the machine in the statistics, if it is there.
std::optional<machine> to_machine(std::string_view statistics);

} // namespace tool::recording
