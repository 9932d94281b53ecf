// SPDX-License-Identifier: GPL-2.0-only
// Compares the figures of two kernels, and the module's figures with an earlier baseline.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using nlohmann::ordered_json;

/// A figure that exceeds the baseline by more than this ratio is reported. Instruction counts do
/// not vary from run to run.
constexpr double tolerance = 0.02;

struct Row {
    std::string what;
    std::string unit;
    double in_tree;
    double ours;
    std::string note;

    double ratio() const { return ours / in_tree; }
    /// Rates depend on the machine and its load.
    bool exact() const { return unit != "per second"; }
};

void to_json(ordered_json& json, const Row& row) {
    json = {{"what", row.what},
            {"unit", row.unit},
            {"in-tree", row.in_tree},
            {"ours", row.ours},
            {"note", row.note}};
}

void from_json(const ordered_json& json, Row& row) {
    json.at("what").get_to(row.what);
    json.at("unit").get_to(row.unit);
    json.at("in-tree").get_to(row.in_tree);
    json.at("ours").get_to(row.ours);
    json.at("note").get_to(row.note);
}

ordered_json read_json(const std::string& path) {
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error("cannot read " + path);
    return ordered_json::parse(file);
}

void write_text(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    if (!(file << text << "\n" << std::flush))
        throw std::runtime_error("cannot write " + path);
}

/// One row a line, so that a diff shows which figures have changed.
std::string json_table(const std::vector<Row>& rows) {
    std::string text;
    for (const Row& row : rows)
        text += (text.empty() ? "[\n" : ",\n") + ordered_json(row).dump();
    return text + "\n]";
}

/// Reads the output of `measure` from one or several files.
ordered_json figures(const std::vector<std::string>& paths) {
    ordered_json all = ordered_json::array();
    for (const std::string& path : paths)
        for (const ordered_json& row : read_json(path))
            all.push_back(row);
    return all;
}

std::vector<Row> join(const ordered_json& in_tree, const ordered_json& ours) {
    if (in_tree.size() != ours.size())
        throw std::runtime_error(
            "the two kernels have different numbers of rows: measure both again");
    std::vector<Row> rows;
    for (std::size_t i = 0; i < ours.size(); i++) {
        if (ours[i].at("what") != in_tree[i].at("what"))
            throw std::runtime_error("the two kernels have different rows: " +
                                     ours[i].at("what").dump());
        std::vector<std::string> notes;
        for (const auto& [kernel, row] : {std::pair{"in-tree", in_tree[i]}, {"ours", ours[i]}})
            if (row.contains("note"))
                notes.push_back(fmt::format("{}: {}", kernel, row.at("note").get<std::string>()));
        rows.push_back({ours[i].at("what"), ours[i].at("unit"),
                        std::round(in_tree[i].at("figure").get<double>()),
                        std::round(ours[i].at("figure").get<double>()),
                        fmt::format("{}", fmt::join(notes, "; "))});
    }
    return rows;
}

/// Formats the rows as text, with a heading for each unit.
std::string text_table(const std::vector<Row>& rows) {
    std::size_t width = 0;
    for (const Row& row : rows)
        width = std::max(width, row.what.size());
    std::string text, unit;
    for (const Row& row : rows) {
        if (row.unit != unit)
            text += fmt::format("{}{:<{}}{:>11}{:>11}{:>7}\n", unit.empty() ? "" : "\n", row.unit,
                                width, "in-tree", "ours", "ratio");
        unit = row.unit;
        text += fmt::format("{:<{}}{:>11}{:>11}{:>7.2f}{}{}\n", row.what, width, row.in_tree,
                            row.ours, row.ratio(), row.note.empty() ? "" : "  ", row.note);
    }
    return text;
}

/// Prints each row of the baseline that is worse now, or missing. Returns true if there is none.
bool as_good_as(const std::vector<Row>& rows, const std::vector<Row>& baseline) {
    bool good = true;
    for (const Row& before : baseline) {
        const auto now = std::ranges::find(rows, before.what, &Row::what);
        if (now == rows.end()) {
            fmt::print("MISSING: {}\n", before.what);
            good = false;
        } else if (before.exact() && now->ours - before.ours > tolerance * std::abs(before.ours)) {
            fmt::print("WORSE: {}: {} {}, was {} ({:+.1f}%)\n", now->what, now->ours, now->unit,
                       before.ours, 100 * (now->ours - before.ours) / std::abs(before.ours));
            good = false;
        }
    }
    return good;
}

} // namespace

int main(int argc, char* argv[]) try {
    CLI::App app("Compares the figures of two kernels, and the module's with a baseline");
    std::vector<std::string> in_tree, ours;
    std::string baseline, output;
    bool update = false;
    app.add_option("--in-tree", in_tree, "output of `measure` on the reference kernel")->required();
    app.add_option("--ours", ours, "output of `measure` with the module")->required();
    app.add_option("--baseline", baseline, "JSON table to compare with")->required();
    app.add_flag("--update", update, "overwrite the baseline with the new table");
    app.add_option("--output", output, "write the table to this file, as JSON");
    CLI11_PARSE(app, argc, argv);

    const std::vector<Row> rows = join(figures(in_tree), figures(ours));
    fmt::print("{}\n", text_table(rows));
    const std::string json = json_table(rows);
    if (!output.empty())
        write_text(output, json);
    if (update) {
        write_text(baseline, json);
        return 0;
    }
    if (!as_good_as(rows, read_json(baseline)))
        return 1;
    fmt::print("No figure is more than {}% worse than in {}.\n", 100 * tolerance, baseline);
} catch (const std::exception& error) {
    fmt::print(stderr, "compare: {}\n", error.what());
    return 2;
}
