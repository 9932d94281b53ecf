// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/recording_options.hpp"
#include "export/exporter.hpp"
#include "export/output_directory.hpp"
#include "export/tracks.hpp"
#include "recording/isolate.hpp"
#include "recording/opened.hpp"
#include "text/errors.hpp"
#include "text/nearest.hpp"
#include "text/new_file.hpp"
#include "text/output.hpp"
#include "tracing/signals.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct format {
    const char* name;
    std::unique_ptr<exporting::exporter> (*make)(const exporting::options&);
    /// What to say if there is no directory, for formats that need one.
    const char* needs_directory = nullptr;
    /// The name of such a file ends in it; of two formats, the first has it.
    const char* suffix = nullptr;
    /// Whether a terminal cannot show it.
    bool is_binary = false;
};

constexpr format formats[] = {
    {"json", exporting::make_json, nullptr, ".json"},
    {"csv", exporting::make_csv, "CSV needs a directory, with a file for each event", ".csv"},
    {"perfetto", exporting::make_perfetto, nullptr, ".pftrace", true},
    {"perfetto-json", exporting::make_perfetto_json},
    {"ctf", exporting::make_ctf, "the Common Trace Format needs a directory", ".ctf"},
    {"ctf2", exporting::make_ctf2, "the Common Trace Format needs a directory"},
    {"html", exporting::make_html, nullptr, ".html"},
};

struct options {
    std::string format;
    std::vector<std::string> pairs;
    recording_options which;
    recording::selection selection;
    std::string output;
};

std::vector<std::string> format_names() {
    std::vector<std::string> names;
    for (const auto& format : formats)
        names.emplace_back(format.name);
    return names;
}

/// What help says of -o, such as "csv, ctf and ctf2".
std::string names_with_directory() {
    std::vector<std::string> names;
    for (const auto& format : formats)
        if (format.needs_directory)
            names.emplace_back(format.name);
    const std::string last = std::move(names.back());
    names.pop_back();
    return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

/// Of this name; without one, that of the output's name.
const format& format_of(const options& given) {
    const auto* const found =
        std::find_if(std::begin(formats), std::end(formats), [&](const format& each) {
            return given.format.empty() ? each.suffix && given.output.ends_with(each.suffix)
                                        : each.name == given.format;
        });
    if (found == std::end(formats))
        throw text::usage_error(given.format.empty() ? "--format is required"
                                                     : "there is no format " + given.format,
                                text::did_you_mean(given.format, format_names(),
                                                   "`user-events export --help` lists the options; "
                                                   "-o trace.html needs no --format"));
    return *found;
}

/// What is written to; standard output if there is neither.
struct outputs {
    std::optional<text::new_file> file;
    std::optional<exporting::output_directory> directory;

    /// Opens what is written in place. May wait, if it is a FIFO.
    void open(const format& format, const std::string& path) {
        if (format.needs_directory && path.empty())
            throw text::usage_error(format.needs_directory, "give it with -o DIRECTORY");
        // What new_file refuses is a mistake in the arguments here.
        if (!format.needs_directory && !path.empty() && text::is_output_as_it_is(path))
            file.emplace(path);
    }
    /// Makes what is not there.
    void create(const format& format, const std::string& path) {
        if (format.needs_directory)
            directory.emplace(path);
        else if (!path.empty() && !file)
            file.emplace(path);
    }

    void finish() {
        if (file) {
            file->keep_old();
            file->finish();
        }
        if (directory)
            directory->finish();
    }
};

void export_file(const options& given) {
    const format& format = format_of(given);
    if (format.is_binary && given.output.empty() && text::is_terminal())
        throw text::usage_error("a terminal cannot show this format", "give a file with -o FILE");
    const auto pairs = exporting::to_pairs(given.pairs);
    auto file = given.which.open();
    outputs outputs;
    outputs.open(format, given.output);
    // From here on, a signal would leave outputs that are not complete.
    tracing::held_signals held;
    outputs.create(format, given.output);
    const auto exporter = format.make({.file = outputs.file ? &*outputs.file : nullptr,
                                       .directory = given.output,
                                       .pairs = pairs,
                                       .source = file.name()});
    recording::isolated_work work;
    if (outputs.directory) {
        work.needs.directories = {"."};
        work.prepare = [&] { outputs.directory->enter(); };
    }
    file.start(given.selection.is_raw);
    work.read = [&] {
        const auto source = file.read(given.selection);
        try {
            source->read([&](const recording::record& record) { exporter->add(record); },
                         [&](const recording::gap& gap) { exporter->add_gap(gap); });
        } catch (const recording::damaged_file&) {
            // For standard output: a new file or directory is removed after this failure.
            exporter->finish();
            throw;
        }
        exporter->finish();
        source->warn_about_gaps(given.which.is_strict());
    };
    work.finish = [&] {
        file.finish();
        outputs.finish();
    };
    recording::isolate(held, file.name(), file.size(), std::move(work));
}

} // namespace

action export_records(arguments& with) {
    const auto given = std::make_shared<options>();
    given->which.declare_files(with);
    with.open_choice("--format", "FORMAT", given->format, format_names(),
                     "default: that of PATH's ending");
    with.option("-o,--output", "PATH", given->output,
                fmt::format("a file, or for {} a directory; otherwise standard output",
                            names_with_directory())
                    .c_str());
    with.option("--pair", "BEGIN,END,KEY", given->pairs,
                "two events that begin and end a slice, and the field that both have in common; "
                "can be repeated");
    return [given] {
        given->selection = given->which.read();
        export_file(*given);
    };
}

} // namespace tool
