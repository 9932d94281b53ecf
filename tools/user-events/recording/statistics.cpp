// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/statistics.hpp"

#include "text/json.hpp"
#include "text/output.hpp"
#include "text/table.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tool::recording {

namespace {

/// A bucket has the sign, the exponent and the first six digits of the mantissa, and is in the
/// order of the numbers.
constexpr int shift = 52 - 6;

std::int32_t bucket_of(double number) {
    const auto bits =
        static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(std::fabs(number)) >> shift);
    return number < 0 ? -bits - 1 : bits;
}

double middle_of(std::int32_t bucket) {
    const auto bits = static_cast<std::uint64_t>(bucket < 0 ? -(bucket + 1) : bucket);
    const double middle = std::bit_cast<double>(bits << shift | std::uint64_t{1} << (shift - 1));
    return bucket < 0 ? -middle : middle;
}

/// The letter of Perfetto's convention is no amount.
constexpr std::string_view slice_type_field = "track_event_type";

constexpr struct {
    const char* name;
    double part;
} quantiles[] = {{"p50", .5}, {"p90", .9}, {"p99", .99}};

void add_row(text::table& table, const std::string& event, const std::string& what,
             const distribution& numbers, std::string (*show)(double)) {
    if (numbers.count() == 0)
        return;
    std::vector<text::cell> row{
        {event, text::style::bold}, {what}, text::number(show(numbers.least()))};
    for (const auto& quantile : quantiles)
        row.push_back(text::number(show(numbers.quantile(quantile.part))));
    row.push_back(text::number(show(numbers.most())));
    row.push_back(text::number(show(numbers.mean())));
    table.add(std::move(row));
}

nlohmann::ordered_json to_json(const distribution& numbers) {
    nlohmann::ordered_json result{{"count", numbers.count()}};
    if (numbers.count() == 0)
        return result;
    result["min"] = numbers.least();
    for (const auto& quantile : quantiles)
        result[quantile.name] = numbers.quantile(quantile.part);
    result["max"] = numbers.most();
    result["mean"] = numbers.mean();
    return result;
}

} // namespace

std::string plain_number(double number) {
    return std::fabs(number) < 1e15 && number == std::trunc(number) ? fmt::format("{:.0f}", number)
                                                                    : fmt::format("{:.6g}", number);
}

std::string as_time(double seconds) {
    const double size = std::fabs(seconds);
    return size >= 1      ? fmt::format("{:.4g} s", seconds)
           : size >= 1e-3 ? fmt::format("{:.4g} ms", seconds * 1e3)
           : size >= 1e-6 ? fmt::format("{:.4g} µs", seconds * 1e6)
                          : fmt::format("{:.4g} ns", seconds * 1e9);
}

void distribution::add(double number) {
    if (!std::isfinite(number))
        return;
    count_++;
    least_ = std::min(least_, number);
    most_ = std::max(most_, number);
    sum_ += number;
    is_whole_ = is_whole_ && number == std::trunc(number);
    buckets_[bucket_of(number)]++;
}

void distribution::add(const distribution& other) {
    count_ += other.count_;
    least_ = std::min(least_, other.least_);
    most_ = std::max(most_, other.most_);
    sum_ += other.sum_;
    is_whole_ = is_whole_ && other.is_whole_;
    for (const auto& [bucket, count] : other.buckets_)
        buckets_[bucket] += count;
}

double distribution::quantile(double part) const {
    std::vector<std::pair<std::int32_t, std::uint64_t>> sorted(buckets_.begin(), buckets_.end());
    std::sort(sorted.begin(), sorted.end());
    const double wanted = part * static_cast<double>(count_);
    std::uint64_t below = 0;
    for (const auto& [bucket, count] : sorted) {
        below += count;
        if (static_cast<double>(below) >= wanted) {
            const double middle = middle_of(bucket);
            return std::clamp(is_whole_ ? std::trunc(middle) : middle, least_, most_);
        }
    }
    return most_;
}

std::vector<double> distribution::parts(const std::vector<double>& limits) const {
    std::vector<double> result(limits.size() + 1);
    for (const auto& [bucket, count] : buckets_) {
        const double number = std::clamp(middle_of(bucket), least_, most_);
        const auto at = std::upper_bound(limits.begin(), limits.end(), number) - limits.begin();
        result[static_cast<std::size_t>(at)] +=
            static_cast<double>(count) / static_cast<double>(count_);
    }
    return result;
}

double distribution::distance(const distribution& other) const {
    std::map<std::int32_t, double> steps;
    for (const auto& [bucket, count] : buckets_)
        steps[bucket] += static_cast<double>(count) / static_cast<double>(count_);
    for (const auto& [bucket, count] : other.buckets_)
        steps[bucket] -= static_cast<double>(count) / static_cast<double>(other.count_);
    double difference = 0, most = 0;
    for (const auto& [bucket, step] : steps)
        most = std::max(most, std::fabs(difference += step));
    return most;
}

/// Programs choose the names of events and fields in payloads. Further events are counted as the
/// tracepoint, and further fields are left out.
constexpr std::size_t most_described = 10'000, most_fields = 1'000;

statistics::event& statistics::event_of(const record& record) {
    std::string name;
    if (record.event->is_described) {
        append_name(name, record);
        if (described_.size() >= most_described && !described_.contains({record.event->id, name}))
            name.clear();
    }
    const auto [number, is_new] =
        name.empty() ? [&] {
            const auto [at, added] = numbers_.try_emplace(record.event->id, events_.size());
            return std::pair(at->second, added);
        }() : [&] {
            const auto [at, added] =
                described_.try_emplace({record.event->id, name}, events_.size());
            return std::pair(at->second, added);
        }();
    if (is_new) {
        event& added = events_.emplace_back();
        added.system = record.event->system;
        added.name = name.empty() ? record.event->name : name;
        added.is_described = record.event->is_described;
        added.sample = record.event->sample;
        if (!added.is_described)
            for (const field& field : record.event->fields)
                added.fields.push_back({field.name, {}});
    }
    return events_[number];
}

void statistics::add_numbers(event& to, const record& record) {
    if (!to.is_described) {
        for (std::size_t i = 0; i < to.fields.size(); i++)
            if (const value value = read(record.event->fields[i], record.data);
                value.is_number() && record.event->fields[i].name != slice_type_field)
                to.fields[i].numbers.add(value.number());
        return;
    }
    for_each_number(record, [&](const std::string& name, double number) {
        auto at = std::find_if(to.fields.begin(), to.fields.end(),
                               [&](const field_numbers& field) { return field.name == name; });
        if (at == to.fields.end()) {
            if (to.fields.size() == most_fields)
                return;
            at = to.fields.insert(at, {name, {}});
        }
        at->numbers.add(number);
    });
}

void statistics::add(const record& record) {
    if (count_++ == 0)
        first_ = last_ = record.time;
    last_ = std::max(last_, record.time);
    event& event = event_of(record);
    if (event.count++ > 0 && record.time >= event.last)
        event.gaps.add(static_cast<double>(record.time - event.last) / 1e9);
    event.last = record.time;
    add_numbers(event, record);
    process& process = event.processes[record.process()];
    if (process.count++ == 0)
        process.name = record.process_name;
}

std::string shown_name(const statistics::event& event) {
    return event.is_described ? event.name : event.system + ":" + event.name;
}

/// Of an event that a rule samples, "1 of 10" stands behind the numbers.
void print_counts(const statistics& statistics) {
    using text::style;
    const auto& events = statistics.events();
    const bool has_sampled = std::any_of(events.begin(), events.end(),
                                         [](const auto& event) { return event.sample > 1; });
    std::vector<std::string> titles{"EVENT", "PROCESS", "RECORDS", "PER SECOND"};
    if (has_sampled)
        titles.emplace_back("SAMPLED");
    text::table counts(titles, true);
    const auto add = [&](const statistics::event& of, text::style as, std::string process,
                         std::uint64_t count) {
        std::vector<text::cell> row{{shown_name(of), as},
                                    {std::move(process)},
                                    text::number(std::to_string(count)),
                                    text::number(fmt::format("{:.1f}", statistics.rate(count)))};
        if (has_sampled)
            row.push_back({of.sample > 1 ? fmt::format("1 of {}", of.sample) : "all"});
        counts.add(std::move(row));
    };
    for (const auto& event : events) {
        add(event, style::bold, "all", event.count);
        for (const auto& [id, process] : event.processes)
            add(event, style::dim, fmt::format("{} {}", process.name, id), process.count);
    }
    counts.print();
}

void print(const statistics& statistics, const slice_durations& slices) {
    text::print(
        fmt::format("{} records in {}\n\n", statistics.count(), as_time(statistics.seconds())));
    print_counts(statistics);
    text::print("\n");
    text::table distributions({"EVENT", "FIELD", "MIN", "P50", "P90", "P99", "MAX", "MEAN"}, true);
    for (const auto& event : statistics.events()) {
        const std::string name = shown_name(event);
        add_row(distributions, name, "(time between)", event.gaps, as_time);
        for (const auto& field : event.fields)
            add_row(distributions, name, field.name, field.numbers, plain_number);
    }
    for (const auto& [name, seconds] : slices)
        add_row(distributions, name, "(duration)", seconds, as_time);
    distributions.print();
}

void print_json(const statistics& statistics, const slice_durations& slices) {
    nlohmann::ordered_json result{{"records", statistics.count()},
                                  {"seconds", statistics.seconds()},
                                  {"events", nlohmann::ordered_json::array()}};
    for (const auto& event : statistics.events()) {
        nlohmann::ordered_json row{{"system", event.system},
                                   {"event", event.name},
                                   {"records", event.count},
                                   {"sample", event.sample},
                                   {"per_second", statistics.rate(event.count)},
                                   {"seconds_between", to_json(event.gaps)},
                                   {"fields", nlohmann::ordered_json::object()},
                                   {"processes", nlohmann::ordered_json::array()}};
        for (const auto& field : event.fields)
            if (field.numbers.count() > 0)
                row["fields"][field.name] = to_json(field.numbers);
        for (const auto& [id, process] : event.processes)
            row["processes"].push_back({{"process", id},
                                        {"name", process.name},
                                        {"records", process.count},
                                        {"per_second", statistics.rate(process.count)}});
        result["events"].push_back(std::move(row));
    }
    result["slices"] = nlohmann::ordered_json::object();
    for (const auto& [name, seconds] : slices)
        result["slices"][name] = to_json(seconds);
    text::print_json(result);
}

} // namespace tool::recording
