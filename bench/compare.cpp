// SPDX-License-Identifier: GPL-2.0-only
// Puts the figures of two kernels side by side, and judges ours by those of an earlier time.
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

/// So much worse than the baseline is told. Nothing of it is chance: where instructions are
/// counted, the same program takes the same number of them.
constexpr double tolerance = 0.02;

struct Row {
    std::string what;
    std::string unit;
    double in_tree;
    double ours;
    std::string note;

    double ratio() const { return ours / in_tree; }
    /// Rates depend on the machine and on what else it does.
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
        throw std::runtime_error("can't read " + path);
    return ordered_json::parse(file);
}

void write_text(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    if (!(file << text << "\n" << std::flush))
        throw std::runtime_error("can't write " + path);
}

/// What `measure` printed, in one or several files.
ordered_json figures(const std::vector<std::string>& paths) {
    ordered_json all = ordered_json::array();
    for (const std::string& path : paths)
        for (const ordered_json& row : read_json(path))
            all.push_back(row);
    return all;
}

std::vector<Row> join(const ordered_json& in_tree, const ordered_json& ours) {
    if (in_tree.size() != ours.size())
        throw std::runtime_error("the kernels have not been measured by the same program");
    std::vector<Row> rows;
    for (std::size_t i = 0; i < ours.size(); i++) {
        if (ours[i].at("what") != in_tree[i].at("what"))
            throw std::runtime_error("not the same row: " + ours[i].at("what").dump());
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

/// The unit heads the rows that have it.
std::string text_table(const std::vector<Row>& rows) {
    std::string text, unit;
    for (const Row& row : rows) {
        if (row.unit != unit)
            text += fmt::format("{}{:<66}{:>11}{:>11}{:>7}\n", unit.empty() ? "" : "\n", row.unit,
                                "in-tree", "ours", "ratio");
        unit = row.unit;
        text += fmt::format("{:<66}{:>11}{:>11}{:>7.2f}{}{}\n", row.what, row.in_tree, row.ours,
                            row.ratio(), row.note.empty() ? "" : "  ", row.note);
    }
    return text;
}

/// The same for Documentation/, a table for each unit.
std::string rst_table(const std::vector<Row>& rows) {
    const std::string rule = fmt::format("{0:=<66} {0:=<10} {0:=<10} {0:=<6}\n", "=");
    std::string text = ".. SPDX-License-Identifier: GPL-2.0-only\n"
                       ".. written by bench/run --rst\n\n";
    std::string unit;
    for (const Row& row : rows) {
        if (row.unit != unit)
            text += fmt::format("{0}{1}{2:<66} {3:>10} {4:>10} {5:>6}\n{1}",
                                unit.empty() ? "" : rule + "\n", rule, row.unit, "in-tree", "ours",
                                "ratio");
        unit = row.unit;
        text += fmt::format("{:<66} {:>10} {:>10} {:>6.2f}\n", row.what, row.in_tree, row.ours,
                            row.ratio());
    }
    text += rule;
    for (const Row& row : rows)
        if (!row.note.empty())
            text += fmt::format("\n* {}: {}.\n", row.what, row.note);
    return text;
}

/// Names each row that has got worse, or has gone. Returns whether there is none.
bool as_good_as(const std::vector<Row>& rows, const std::vector<Row>& baseline) {
    bool good = true;
    for (const Row& before : baseline) {
        const auto now = std::ranges::find(rows, before.what, &Row::what);
        if (now == rows.end()) {
            fmt::print("GONE: {}\n", before.what);
            good = false;
        } else if (before.exact() && now->ours > before.ours * (1 + tolerance)) {
            fmt::print("WORSE: {}: {} {}, was {} ({:+.1f}%)\n", now->what, now->ours, now->unit,
                       before.ours, 100 * (now->ours / before.ours - 1));
            good = false;
        }
    }
    return good;
}

} // namespace

int main(int argc, char* argv[]) try {
    CLI::App app("Compares the figures of two kernels, and ours with a baseline");
    std::vector<std::string> in_tree, ours;
    std::string baseline, output, rst;
    bool update = false;
    app.add_option("--in-tree", in_tree, "what `measure` printed on the reference kernel")
        ->required();
    app.add_option("--ours", ours, "what it printed with the module")->required();
    app.add_option("--baseline", baseline, "the table to be as good as")->required();
    app.add_flag("--update", update, "make this the baseline");
    app.add_option("--output", output, "write the table here, as JSON");
    app.add_option("--rst", rst, "write the table here, as reStructuredText");
    CLI11_PARSE(app, argc, argv);

    const std::vector<Row> rows = join(figures(in_tree), figures(ours));
    fmt::print("{}\n", text_table(rows));
    const std::string json = ordered_json(rows).dump(1);
    if (!output.empty())
        write_text(output, json);
    if (!rst.empty())
        write_text(rst, rst_table(rows));
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
