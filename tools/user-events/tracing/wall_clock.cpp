// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/wall_clock.hpp"

#include "tracing/tracefs.hpp"

namespace tool::tracing {

namespace {

/// The clocks of tracing that programs can read, too.
constexpr struct {
    std::string_view name;
    clockid_t id;
} clocks[] = {
    {"mono", CLOCK_MONOTONIC},
    {"mono_raw", CLOCK_MONOTONIC_RAW},
    {"boot", CLOCK_BOOTTIME},
    {"tai", CLOCK_TAI},
};

} // namespace

std::string name_of_clock(const instance& in) {
    // "local global [mono] boot"
    const std::string text = in.read("trace_clock");
    const auto open = text.find('['), close = text.find(']');
    return open == text.npos || close < open ? "" : text.substr(open + 1, close - open - 1);
}

std::optional<clockid_t> readable_clock(std::string_view name) {
    for (const auto& clock : clocks)
        if (clock.name == name)
            return clock.id;
    return std::nullopt;
}

} // namespace tool::tracing
