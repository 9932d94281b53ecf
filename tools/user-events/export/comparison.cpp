// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/comparison.hpp"

#include "text/escape.hpp"
#include "text/json.hpp"
#include "text/output.hpp"
#include "text/table.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace tool::exporting {

namespace {

using recording::distribution;
using recording::statistics;

constexpr double least_change = 0.05;
/// What chance exceeds in one of 1000 cases: standard deviations, and the test's factor.
constexpr double most_deviations = 3.29, most_distance = 1.95;

bool is_large(double change) {
    return std::fabs(change) >= least_change;
}

row to_rate(const std::string& name, std::uint64_t before, const statistics& all_before,
            std::uint64_t after, const statistics& all_after) {
    const auto variance = [](std::uint64_t count, const statistics& all) {
        const double seconds = all.seconds();
        return seconds > 0 ? static_cast<double>(count) / (seconds * seconds) : 0;
    };
    row result{name,
               "rate",
               unit::rate,
               {before, after},
               {{"per second", all_before.rate(before), all_after.rate(after)}},
               false,
               {}};
    const figure& rate = result.figures[0];
    const double deviation = std::sqrt(variance(before, all_before) + variance(after, all_after));
    result.is_significant =
        result.is_in_one() || (is_large(rate.change()) &&
                               std::fabs(rate.after - rate.before) > most_deviations * deviation);
    return result;
}

row to_row(const std::string& name, const std::string& what, unit unit, const distribution& before,
           const distribution& after) {
    row result{name, what, unit, {before.count(), after.count()}, {}, false, {before, after}};
    if (before.count() == 0 || after.count() == 0) {
        result.is_significant = result.is_in_one();
        return result;
    }
    for (const auto& [quantile, part] : {std::pair("p50", .5), {"p90", .9}, {"p99", .99}})
        result.figures.push_back({quantile, before.quantile(part), after.quantile(part)});
    const auto a = static_cast<double>(before.count()), b = static_cast<double>(after.count());
    result.is_significant =
        (is_large(result.figures.front().change()) || is_large(result.figures.back().change())) &&
        before.distance(after) > most_distance * std::sqrt((a + b) / (a * b));
    return result;
}

/// Events by name: several formats of one name are one event.
std::map<std::string, std::vector<const statistics::event*>> by_name(const statistics& all) {
    std::map<std::string, std::vector<const statistics::event*>> result;
    for (const auto& event : all.events())
        result[shown_name(event)].push_back(&event);
    return result;
}

std::uint64_t count_of(const std::vector<const statistics::event*>& events) {
    std::uint64_t count = 0;
    for (const auto* event : events)
        count += event->count;
    return count;
}

/// The numbers of all formats.
distribution field_of(const std::vector<const statistics::event*>& events,
                      const std::string& name) {
    distribution result;
    for (const auto* event : events)
        for (const auto& field : event->fields)
            if (field.name == name)
                result.add(field.numbers);
    return result;
}

/// The names of the fields of several events, each one once and in the order of the first event
/// that has it.
std::vector<std::string> fields_of(std::vector<const statistics::event*> first,
                                   const std::vector<const statistics::event*>& second) {
    first.insert(first.end(), second.begin(), second.end());
    std::vector<std::string> result;
    for (const auto* event : first)
        for (const auto& field : event->fields)
            if (std::find(result.begin(), result.end(), field.name) == result.end())
                result.push_back(field.name);
    return result;
}

void add_durations(std::vector<row>& to, const durations& before, const durations& after) {
    auto names = before.by_name();
    names.insert(after.by_name().begin(), after.by_name().end());
    const auto of = [](const durations& all, const std::string& name) {
        const auto at = all.by_name().find(name);
        return at == all.by_name().end() ? distribution() : at->second;
    };
    for (const auto& [name, numbers] : names)
        to.push_back(to_row(name, "duration", unit::seconds, of(before, name), of(after, name)));
}

} // namespace

std::vector<row> compare(const measured& before, const measured& after) {
    std::vector<row> rows;
    add_durations(rows, before.durations, after.durations);
    const auto first = by_name(before.statistics), second = by_name(after.statistics);
    auto names = first;
    names.insert(second.begin(), second.end());
    const auto of = [](const auto& all, const std::string& name) {
        const auto at = all.find(name);
        return at == all.end() ? std::vector<const statistics::event*>() : at->second;
    };
    for (const auto& [name, events] : names)
        rows.push_back(to_rate(name, count_of(of(first, name)), before.statistics,
                               count_of(of(second, name)), after.statistics));
    for (const auto& [name, events] : names)
        for (const std::string& field : fields_of(of(first, name), of(second, name)))
            rows.push_back(to_row(name, field, unit::number, field_of(of(first, name), field),
                                  field_of(of(second, name), field)));
    std::erase_if(rows, [](const row& row) { return row.counts[0] + row.counts[1] == 0; });
    return rows;
}

std::string shown(unit unit, double number) {
    return unit == unit::seconds ? recording::as_time(number)
           : unit == unit::rate  ? fmt::format("{:.1f}", number)
                                 : recording::plain_number(number);
}

std::string shown_change(const row& row, const figure& figure) {
    if (row.is_in_one())
        return row.counts[0] ? "only in the first" : "only in the second";
    const double change = figure.change();
    return change == 0                  ? "0 %"
           : std::isinf(change)         ? "from 0"
           : std::fabs(change) >= 9.995 ? fmt::format("x {:.3g}", 1 + change)
                                        : fmt::format("{:+.1f} %", 100 * change);
}

namespace {

void add_rows(text::table& to, const row& row) {
    using text::style;
    if (row.figures.empty()) {
        to.add({{row.name, style::bold},
                {row.what},
                text::number(row.counts[0] ? std::to_string(row.counts[0]) : "-"),
                text::number(row.counts[1] ? std::to_string(row.counts[1]) : "-"),
                text::number(row.counts[0] ? "only in the first" : "only in the second")});
        return;
    }
    for (const figure& figure : row.figures) {
        std::string change = shown_change(row, figure);
        to.add(
            {{row.name, style::bold},
             {row.unit == unit::rate ? figure.name : fmt::format("{} {}", row.what, figure.name)},
             text::number(shown(row.unit, figure.before)),
             text::number(shown(row.unit, figure.after)),
             {std::move(change), row.is_significant ? style::bold : style::dim, true}});
    }
}

nlohmann::ordered_json summary_of(const measured& of) {
    return {{"file", of.file},
            {"records", of.statistics.count()},
            {"seconds", of.statistics.seconds()}};
}

} // namespace

void print_comparison(const measured& before, const measured& after, bool with_all) {
    for (const measured* each : {&before, &after})
        text::print(fmt::format("{}: {} records in {}\n", text::escaped(each->file),
                                each->statistics.count(),
                                recording::as_time(each->statistics.seconds())));
    text::print("\n");
    auto rows = compare(before, after);
    const auto others = std::stable_partition(rows.begin(), rows.end(),
                                              [](const row& row) { return row.is_significant; });
    const auto nr_others = rows.end() - others;
    if (others == rows.begin())
        text::print("Nothing differs by more than chance.\n");
    if (!with_all)
        rows.erase(others, rows.end());
    text::table table({"EVENT", "WHAT", "FIRST", "SECOND", "CHANGE"});
    for (const row& row : rows)
        add_rows(table, row);
    if (!rows.empty())
        table.print();
    if (!with_all && nr_others)
        text::print(
            fmt::format("\n{} more differ by less than 5 % or than chance: --all\n", nr_others));
}

void print_json_comparison(const measured& before, const measured& after) {
    nlohmann::ordered_json result{{"first", summary_of(before)},
                                  {"second", summary_of(after)},
                                  {"rows", nlohmann::ordered_json::array()}};
    for (const row& row : compare(before, after)) {
        nlohmann::ordered_json to{{"event", row.name},
                                  {"what", row.what},
                                  {"records", row.counts},
                                  {"significant", row.is_significant}};
        for (const figure& figure : row.figures)
            to[figure.name] = {figure.before, figure.after};
        result["rows"].push_back(std::move(to));
    }
    text::print_json(result);
}

} // namespace tool::exporting
