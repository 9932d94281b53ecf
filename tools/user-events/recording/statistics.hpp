// SPDX-License-Identifier: GPL-2.0-or-later
// Counts, rates and distributions, in memory that does not depend on the number of records.
#pragma once

#include "recording/record.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tool::recording {

/// How numbers are distributed. Quantiles are exact to 1.6 %; those of integers below 128 are
/// exact.
class distribution {
public:
    void add(double number);
    /// Adds the numbers of another one.
    void add(const distribution& other);

    std::uint64_t count() const noexcept { return count_; }
    double least() const noexcept { return least_; }
    double most() const noexcept { return most_; }
    double mean() const noexcept { return sum_ / static_cast<double>(count_); }
    /// The number that this part of the numbers, 0 to 1, does not exceed.
    double quantile(double part) const;
    /// The distance of Kolmogorov and Smirnov: by how much the parts of both that are below a
    /// number differ at most, 0 to 1.
    double distance(const distribution& other) const;

    /// Which parts of the numbers are below the first of these limits, between each and the next
    /// one, and from the last one on. The limits are in order.
    std::vector<double> parts(const std::vector<double>& limits) const;

private:
    std::uint64_t count_ = 0;
    double least_ = std::numeric_limits<double>::infinity();
    double most_ = -std::numeric_limits<double>::infinity();
    double sum_ = 0;
    bool is_whole_ = true;
    std::unordered_map<std::int32_t, std::uint64_t> buckets_;
};

class statistics {
public:
    struct field_numbers {
        std::string name;
        distribution numbers;
    };
    struct process {
        std::string name;
        std::uint64_t count = 0;
    };
    struct event {
        std::string system;
        /// What payloads call the event if they describe themselves, `Provider:Event`.
        std::string name;
        std::uint64_t count = 0;
        /// Of so many payloads, one has a record: the rest is not counted here.
        std::uint32_t sample = 1;
        std::uint64_t last = 0;
        distribution gaps; // seconds between a record and the next
        bool is_described = false;
        std::vector<field_numbers> fields;
        std::map<int, process> processes;
    };

    void add(const record& record);

    /// In the order of their first records.
    const std::vector<event>& events() const noexcept { return events_; }
    std::uint64_t count() const noexcept { return count_; }
    double seconds() const noexcept { return static_cast<double>(last_ - first_) / 1e9; }
    /// Records in a second, of all the recording's seconds.
    double rate(std::uint64_t count) const noexcept {
        return last_ > first_ ? static_cast<double>(count) / seconds() : 0;
    }

private:
    event& event_of(const record& record);
    static void add_numbers(event& to, const record& record);

    std::vector<event> events_;
    std::unordered_map<int, std::size_t> numbers_;
    /// By the name in the payload.
    std::map<std::pair<int, std::string>, std::size_t> described_;
    std::uint64_t count_ = 0;
    std::uint64_t first_ = 0;
    std::uint64_t last_ = 0;
};

/// The name with the system. A described event has its provider in its name.
std::string shown_name(const statistics::event& event);
/// A number, and seconds in a unit that fits.
std::string plain_number(double number);
std::string as_time(double seconds);

/// In seconds, by the names of slices.
using slice_durations = std::map<std::string, distribution>;

/// Prints them as tables or as a JSON document.
void print(const statistics& statistics, const slice_durations& slices);
void print_json(const statistics& statistics, const slice_durations& slices);

} // namespace tool::recording
