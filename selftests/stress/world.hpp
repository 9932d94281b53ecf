// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "mapping.hpp"
#include "tally.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <random>
#include <string>

namespace stress {

/// The same numbers from the same seed, on any machine.
class Random {
public:
    Random(unsigned seed, unsigned stream) : engine_((seed * 1000003U + stream) | 1U) {}

    /// A number below `limit`.
    unsigned below(unsigned limit) { return static_cast<unsigned>(engine_() >> 8U) % limit; }
    bool chance(unsigned percent) { return below(100) < percent; }
    template <typename Range>
    const auto& one_of(const Range& range) {
        return *std::next(std::begin(range), below(static_cast<unsigned>(std::size(range))));
    }

private:
    std::mt19937 engine_;
};

/// Where a round stands. Everybody follows.
enum class Phase : int {
    chaos,
    /// Everybody ends what he does.
    calm,
    /// Programs have their memory such that it can be written, and change nothing any more.
    writable,
    /// Every event has been enabled and disabled since: all bits are to be 0.
    disabled,
    /// The same with every event enabled: 1.
    enabled,
    end
};

/// What all processes share.
struct World {
    std::atomic<Phase> phase;
    /// How many programs have looked at their bits in the present phase, and in how many of them
    /// some were wrong.
    std::atomic<unsigned> looked, wrong;
    /// Writes to the event of the books: begun, and answered by a success.
    std::atomic<unsigned long> begun, succeeded;
    Tally tally;
};

/// The event whose records are counted, and how many bytes of a record are fixed.
inline constexpr const char* books_name = "stress_books";
inline constexpr const char* books_command = "stress_books u64 number";

/// The names of the other events, few enough that processes meet.
inline constexpr const char* names[] = {"stress_a", "stress_b", "stress_c", "stress_d",
                                        "stress_e", "stress_f", "stress_g", "stress_h"};

/// Their fields.
inline constexpr const char* formats[] = {"", " u32 a", " u32 a; char[16] b", " __rel_loc char[] a",
                                          " u64 a;struct b c 20"};

} // namespace stress
