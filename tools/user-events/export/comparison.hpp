// SPDX-License-Identifier: GPL-2.0-or-later
// What differs between two recordings.
#pragma once

#include "export/durations.hpp"
#include "recording/statistics.hpp"
#include "text/new_file.hpp"

#include <array>
#include <cmath>
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

enum class unit : std::uint8_t { rate, seconds, number };

/// One of the numbers that are compared.
struct figure {
    const char* name; // "p50"
    double before, after;

    /// How much larger it is; infinite if it was 0.
    double change() const noexcept {
        return before == after ? 0 : (after - before) / std::fabs(before);
    }
};

struct row {
    std::string name; // of the event or the slice
    std::string what; // "rate", "duration" or the name of a field
    exporting::unit unit;
    std::array<std::uint64_t, 2> counts;
    std::vector<figure> figures;
    bool is_significant;
    std::array<recording::distribution, 2> numbers; // empty for a rate

    /// Of the figure that has changed most.
    double change() const noexcept {
        double most = 0;
        for (const figure& figure : figures)
            if (std::fabs(figure.change()) > std::fabs(most))
                most = figure.change();
        return most;
    }
    bool is_in_one() const noexcept { return (counts[0] == 0) != (counts[1] == 0); }
};

/// What can be compared: durations, rates, fields.
std::vector<row> compare(const measured& before, const measured& after);
/// A number in its unit, and what has become of it.
std::string shown(unit unit, double number);
std::string shown_change(const row& row, const figure& figure);

/// Prints what is significant, or all, as a table or as a JSON document. What only one recording
/// has is significant; for the rest see `user-events compare` in Documentation/tool.rst.
void print_comparison(const measured& before, const measured& after, bool with_all);
void print_json_comparison(const measured& before, const measured& after);

/// Writes a page for a browser with all of it: the figures, and the distributions of both in one
/// picture. It has no scripts. Throws text::system_failure.
void write_comparison_page(text::new_file& to, const measured& before, const measured& after);

} // namespace tool::exporting
