// SPDX-License-Identifier: GPL-2.0-or-later
// What a file of perf says besides its records: perf itself does not pass this on, or does not look
// at it. The kernel's tools/perf/Documentation/perf.data-file-format.txt describes the file.
#pragma once

#include "recording/file.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tool::recording {

/// What such a file begins with.
inline constexpr std::string_view perf_data_magic = "PERFILE2";

bool is_perf_data(const input& from);

struct perf_file {
    /// What to add to the times of records to get the time of day, in nanoseconds; 0 if the file
    /// does not say it.
    std::int64_t clock_offset = 0;
    /// That of the perf that has made the file; empty if it is not known.
    std::string version;
    /// Whether the end is missing: perf reads such a file without a word.
    bool is_cut = false;
};

/// Reads a file of any bytes. One that is no regular file says nothing.
perf_file read_perf_file(const input& from);

} // namespace tool::recording
