// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/choice_options.hpp"
#include "commands/commands.hpp"
#include "commands/cut_options.hpp"

#include "recording/perf_data.hpp"
#include "recording/statistics.hpp"
#include "text/output.hpp"
#include "tracing/signals.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tool {

namespace {

struct options {
    std::string path;
    recording::selection selection;
    choice_options choice;
    cut_options cut;
    bool with_statistics = false;
    bool as_json = false;
    bool is_strict = false;
};

void print_records(recording::source& file, bool as_json) {
    static constexpr std::size_t enough = 1 << 16;
    std::string lines;
    const auto print = [&](std::size_t most) {
        if (lines.size() < most)
            return;
        text::print(lines);
        lines.clear();
    };
    file.read(
        [&](const recording::record& record) {
            if (as_json)
                append_json_line(lines, record);
            else
                append_line(lines, record);
            print(enough);
        },
        [&](const recording::gap& gap) {
            if (as_json)
                append_json_line(lines, gap);
        });
    print(0);
}

void print_statistics(recording::source& file, bool as_json) {
    recording::statistics statistics;
    file.read([&](const recording::record& record) { statistics.add(record); });
    if (as_json)
        print_json(statistics);
    else
        print(statistics);
}

void print_report(const options& given) {
    // May wait, if it is a FIFO.
    const recording::input input(given.path);
    tracing::held_signals held;
    recording::isolated_work work;
    std::optional<recording::perf_script> perf;
    if (recording::is_perf_data(input)) {
        perf.emplace(input, given.selection.is_raw);
        work.finish = [&] { perf->finish(); };
    }
    work.read = [&] {
        const auto source = recording::open_source(input, perf ? &*perf : nullptr, given.selection);
        if (given.with_statistics)
            print_statistics(*source, given.as_json);
        else
            print_records(*source, given.as_json);
        text::flush();
        source->warn_about_gaps(given.is_strict);
    };
    recording::isolate(held, input, std::move(work));
}

} // namespace

action report(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positional("FILE", given->path, "a recording");
    with.optional_positional(
        "PATTERN", given->selection.pattern,
        "only these events, such as 'order_*', 'sched:*' or 'MyProvider:Request*'");
    with.option("-f,--filter", "FILTER", given->selection.filter,
                "only records for which this is true, such as 'cents > 300'");
    with.flag("--stats", given->with_statistics, "counts, rates and distributions instead");
    with.flag("--json", given->as_json, "a line of JSON for each record");
    given->choice.declare(with);
    given->cut.declare(with);
    given->cut.declare_programs(with);
    with.flag("--raw", given->selection.is_raw, "do not decode payloads that describe themselves");
    with.flag("--strict", given->is_strict, "fail if records are missing");
    return [given] {
        given->selection.choice = given->choice.read();
        given->selection.cut = given->cut.read();
        print_report(*given);
    };
}

} // namespace tool
