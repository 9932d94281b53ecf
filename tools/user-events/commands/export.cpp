// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.hpp"
#include "export/exporter.hpp"
#include "export/tracks.hpp"
#include "recording/file.hpp"
#include "text/errors.hpp"

#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

namespace tool {

namespace {

constexpr struct {
    const char* name;
    std::unique_ptr<exporting::exporter> (*make)(const exporting::options&);
} formats[] = {
    {"json", exporting::make_json},         {"csv", exporting::make_csv},
    {"perfetto", exporting::make_perfetto}, {"ctf", exporting::make_ctf},
    {"html", exporting::make_html},
};

struct options {
    std::string path;
    std::string format;
    std::vector<std::string> pairs;
    recording::selection selection;
    exporting::options exporting;
    bool is_strict = false;
};

std::unique_ptr<exporting::exporter> make_exporter(const std::string& name,
                                                   const exporting::options& options) {
    std::string names;
    for (const auto& format : formats) {
        if (name == format.name)
            return format.make(options);
        names += names.empty() ? "" : ", ";
        names += format.name;
    }
    throw text::usage_error(fmt::format("there is no format {}", name),
                            fmt::format("the formats are {}", names));
}

void export_file(options given) {
    given.exporting.pairs = exporting::to_pairs(given.pairs);
    given.exporting.source = given.path;
    recording::isolate(given.path, given.selection.filter);
    // What is written to a pipe need not be removed, and the pipe may be full.
    if (!given.exporting.output.empty())
        recording::file::end_by_signals();
    recording::file file(given.path, given.selection);
    const auto exporter = make_exporter(given.format, given.exporting);
    file.read([&](const recording::record& record) { exporter->add(record); });
    exporter->finish();
    file.warn_about_gaps(given.is_strict);
}

} // namespace

action export_records(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positional("FILE", given->path, "a recording");
    with.optional_positional("PATTERN", given->selection.pattern,
                             "only these events, such as 'order_*' or 'sched:*'");
    with.required_option("--format", "FORMAT", given->format, "json, csv, perfetto, ctf, html");
    with.option("-o,--output", "PATH", given->exporting.output,
                "a file, or for csv and ctf a directory; otherwise standard output");
    with.option("-f,--filter", "FILTER", given->selection.filter,
                "only records for which this is true, such as 'cents > 300'");
    with.option("--pair", "BEGIN,END,KEY", given->pairs,
                "two events that begin and end something, and the field that says what");
    with.flag("--raw", given->selection.is_raw, "do not decode payloads that describe themselves");
    with.flag("--strict", given->is_strict, "fail if records are missing");
    return [given] { export_file(*given); };
}

} // namespace tool
