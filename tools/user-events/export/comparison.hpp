// SPDX-License-Identifier: GPL-2.0-or-later
// What differs between two recordings.
#pragma once

#include "export/durations.hpp"
#include "recording/statistics.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool::exporting {

/// What is known of a recording.
struct measured {
    explicit measured(const std::vector<pair>& pairs) : durations(pairs) {}

    void add(const recording::record& record) {
        statistics.add(record);
        durations.add(record);
    }

    std::string file;
    recording::statistics statistics;
    exporting::durations durations;
};

/// Prints what is significant, or all, as a table or as a JSON document. A rate is, if it changes
/// by 5 % or more and a number of records that depends on chance alone would differ less in 999 of
/// 1000 cases. So is a duration or a field, if its median or 99th percentile changes by as much, by
/// the test of Kolmogorov and Smirnov. What is in one recording only is.
void print_comparison(const measured& before, const measured& after, bool with_all);
void print_json_comparison(const measured& before, const measured& after);

} // namespace tool::exporting
