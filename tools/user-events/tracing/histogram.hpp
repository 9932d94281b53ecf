// SPDX-License-Identifier: GPL-2.0-or-later
// What histogram triggers have counted, as an event's file `hist` shows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool::tracing {

struct histogram {
    struct bucket {
        /// "item: tea, cents: 12"
        std::string keys;
        std::uint64_t count;
        /// The sums of the trigger's `vals=`, "cents: 960"; empty if there are none.
        std::string sums;
    };

    /// As the kernel completes it: "hist:keys=item:vals=hitcount:sort=hitcount:size=2048".
    std::string trigger;
    std::vector<bucket> buckets;
    /// Records that had no room in the kernel's table.
    std::uint64_t dropped = 0;
};

/// The histograms of an event, in the order in which they were made.
std::vector<histogram> to_histograms(const std::string& text);

/// The number behind a name in the keys or sums; 0 if it is not there. The kernel prints a sum of
/// negative numbers modulo 2^64.
std::uint64_t number_of(std::string_view name, std::string_view text);

} // namespace tool::tracing
