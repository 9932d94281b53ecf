// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/recording_options.hpp"

#include "export/durations.hpp"
#include "export/output_file.hpp"
#include "recording/isolate.hpp"
#include "recording/opened.hpp"
#include "recording/statistics.hpp"
#include "text/output.hpp"
#include "tracing/signals.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct options {
    recording_options which;
    recording::selection selection;
    bool with_statistics = false;
    bool as_json = false;
};

void print_records(recording::source& file, bool as_json) {
    exporting::output_file to(nullptr);
    try {
        file.read(
            [&](const recording::record& record) {
                if (as_json)
                    append_json_line(to.text(), record);
                else
                    append_line(to.text(), record);
                to.advance();
            },
            [&](const recording::gap& gap) {
                if (as_json)
                    append_json_line(to.text(), gap);
            });
    } catch (const recording::damaged_file&) {
        to.finish();
        throw;
    }
    to.finish();
}

void print_statistics(recording::source& file, bool as_json) {
    recording::statistics statistics;
    exporting::durations durations(std::vector<exporting::pair>{});
    file.read([&](const recording::record& record) {
        statistics.add(record);
        durations.add(record);
    });
    if (as_json)
        print_json(statistics, durations.by_name());
    else
        print(statistics, durations.by_name());
}

void print_report(const options& given) {
    auto file = given.which.open();
    tracing::held_signals held;
    file.start(given.selection.is_raw);
    recording::isolated_work work;
    work.read = [&] {
        const auto source = file.read(given.selection);
        if (given.with_statistics)
            print_statistics(*source, given.as_json);
        else
            print_records(*source, given.as_json);
        text::flush();
        source->warn_about_gaps(given.which.is_strict());
    };
    work.finish = [&] { file.finish(); };
    recording::isolate(held, file.name(), file.size(), std::move(work));
}

} // namespace

action report(arguments& with) {
    const auto given = std::make_shared<options>();
    given->which.declare_files(with);
    with.flag("--stats", given->with_statistics, "counts, rates and distributions instead");
    with.flag("--json", given->as_json, "a line of JSON for each record");
    return [given] {
        given->selection = given->which.read();
        print_report(*given);
    };
}

} // namespace tool
