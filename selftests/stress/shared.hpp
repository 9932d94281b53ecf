// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "mapping.hpp"
#include "outcome_counts.hpp"
#include "random.hpp"
#include "user_events.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <string>

namespace stress {

/// The phases of a round. The main process sets the phase, and the other processes wait for it.
enum class Phase : int {
    running,
    /// No process starts an operation.
    stopping,
    /// Programs make all their memory writable, and change nothing afterwards.
    writable,
    /// All events have been enabled and disabled: all bits must be 0.
    disabled,
    /// All events are enabled: all registered bits must be 1.
    enabled,
    end
};

/// The most writes to the counted event: the buffer has space for their records.
inline constexpr std::size_t counted_most = 100'000;

/// The state that all processes share.
struct Shared {
    std::atomic<Phase> phase;
    /// The programs that have checked their bits in this phase.
    std::atomic<unsigned> checked;
    /// Programs with wrong bits, and operations with a forbidden result.
    std::atomic<unsigned> violations;
    /// The writes to the counted event that were begun, each of which has a number of its own.
    std::atomic<unsigned long> begun;
    /// By the number: whether the write has returned with success.
    std::array<std::atomic<bool>, counted_most> written;
    OutcomeCounts count;
};

/// The event whose records are counted.
inline constexpr const char* counted_name = "stress_counted";
inline constexpr const char* counted_command = "stress_counted u64 number";

/// The names of the other events. There are few, so that processes often use the same event.
inline constexpr const char* names[] = {"stress_a", "stress_b", "stress_c", "stress_d",
                                        "stress_e", "stress_f", "stress_g", "stress_h"};

/// Their formats.
inline constexpr const char* formats[] = {"", " u32 a", " u32 a; char[16] b", " __rel_loc char[] a",
                                          " u64 a;struct b c 20"};

/// A group of events, which exists while the module is loaded.
inline constexpr const char* group_name = "stress";

/// The systems of all events but marks.
inline constexpr const char* systems[] = {USER_EVENTS_SYSTEM, USER_EVENTS_MULTI_SYSTEM,
                                          "user_events_stress", "user_events_stress_multi"};

/// The directory of a control group for programs, and its path in the hierarchy. Set before
/// processes are forked.
inline std::string control_group, control_group_path;

} // namespace stress
