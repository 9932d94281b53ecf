// SPDX-License-Identifier: GPL-2.0-or-later
// From the clock of records to the time of day.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace tool::tracing {

inline std::int64_t nanoseconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

class instance;

/// The name of the clock that an instance has. Throws text::failure.
std::string name_of_clock(const instance& in);
/// How programs read the clock of tracing that has this name; nothing if they cannot, so that its
/// distance from the time of day is unknown.
std::optional<clockid_t> readable_clock(std::string_view name);

/// The distance of the two clocks changes as the time of day is corrected: slowly, or by a jump.
class wall_clock {
public:
    explicit wall_clock(clockid_t of = CLOCK_MONOTONIC) : of_(of) { measure(); }

    /// To be called before records are read.
    void measure() {
        before_ = now_;
        const std::int64_t first = nanoseconds(of_);
        const std::int64_t wall = nanoseconds(CLOCK_REALTIME);
        now_.time = first + (nanoseconds(of_) - first) / 2;
        now_.offset = wall - now_.time;
        if (!before_.time)
            before_ = now_;
    }

    /// What was last added to the clock to get the time of day, in nanoseconds.
    std::int64_t offset() const noexcept { return now_.offset; }

    /// The time of day of a record that was made since the measurement before the last one; or of
    /// an older one, with the distance of that measurement.
    std::uint64_t to_wall(std::uint64_t time) const noexcept {
        const auto at = static_cast<std::int64_t>(time);
        std::int64_t offset = before_.offset;
        const std::int64_t change = now_.offset - before_.offset;
        // A jump was at an unknown moment in between.
        const bool is_jump = change > jump || change < -jump;
        if (at >= now_.time)
            offset = now_.offset;
        else if (at > before_.time && !is_jump)
            offset += static_cast<std::int64_t>(static_cast<double>(change) *
                                                static_cast<double>(at - before_.time) /
                                                static_cast<double>(now_.time - before_.time));
        return static_cast<std::uint64_t>(at + offset);
    }

private:
    static constexpr std::int64_t jump = 10'000'000;
    struct measurement {
        std::int64_t time = 0;
        std::int64_t offset = 0;
    };
    clockid_t of_;
    measurement before_, now_;
};

} // namespace tool::tracing
