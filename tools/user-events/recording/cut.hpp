// SPDX-License-Identifier: GPL-2.0-or-later
// A part of a recording: a span of time, some CPUs, some programs.
#pragma once

#include "recording/record.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tool::recording {

/// A time as a user gives it: absolute, or counted from the first record of the file, or from the
/// first mark with a text.
struct moment {
    enum class origin : std::uint8_t { absolute, start, mark };

    moment::origin origin = origin::absolute;
    std::string mark;
    std::int64_t offset = 0; // in nanoseconds; of an absolute one, the time
};

/// Reads `16.5` (seconds, as records have them), `2026-11-26 23:17:00.5` (local; with `Z`, UTC),
/// `+2.5`, `mark:TEXT`, `mark:TEXT+0.5s` or `mark:TEXT-0.5s`. Throws text::usage_error, which names
/// the option.
moment to_moment(const std::string& option, const std::string& text);

/// What of a recording is read. Each part that is empty chooses all.
struct cut {
    std::optional<moment> from, to;
    std::vector<bool> cpus;     // by number
    std::vector<int> processes; // or threads
    std::string comm;           // a glob: of the thread or its process

    bool has_mark() const noexcept;
};

/// Reads a list such as `0,2-4`. Throws text::usage_error.
std::vector<bool> to_cpus(const std::string& text);

/// Chooses records, once it is known when the recording begins.
class cutter {
public:
    explicit cutter(const cut& cut) : cut_(cut) {}

    /// Returns the mark of one of the times, if it is not known when that was made.
    const std::string* unknown_mark() const noexcept;
    void set_mark(std::uint64_t time) noexcept;
    void set_start(std::uint64_t start);
    /// The same with absolute times, once all marks are known.
    cut counted_from(std::uint64_t start) const;

    bool is_before_end(std::uint64_t time) const noexcept { return time <= last_; }
    bool includes(std::uint64_t time, int cpu) const noexcept {
        return time >= first_ && time <= last_ && includes_cpu(cpu);
    }
    bool includes(const record& record) const;

private:
    bool includes_cpu(int cpu) const noexcept {
        return cut_.cpus.empty() || (cpu >= 0 && static_cast<std::size_t>(cpu) < cut_.cpus.size() &&
                                     cut_.cpus[static_cast<std::size_t>(cpu)]);
    }

    cut cut_;
    std::uint64_t first_ = 0, last_ = std::numeric_limits<std::uint64_t>::max();
};

} // namespace tool::recording
