// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/choice_options.hpp"
#include "commands/commands.hpp"
#include "commands/cut_options.hpp"
#include "export/comparison.hpp"
#include "recording/perf_data.hpp"
#include "text/output.hpp"
#include "tracing/signals.hpp"

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tool {

namespace {

struct options {
    std::string first, second;
    std::vector<std::string> pairs;
    recording::selection selection;
    choice_options choice;
    cut_options cut;
    bool with_all = false;
    bool as_json = false;
    bool is_strict = false;
};

/// A recording, and perf if it is needed to read it.
struct opened {
    /// May wait, if it is a FIFO.
    explicit opened(const std::string& path) : input(path) {}

    recording::input input;
    std::optional<recording::perf_script> perf;
};

exporting::measured measure(const options& given, const opened& from) {
    exporting::measured result(exporting::to_pairs(given.pairs));
    result.file = from.input.path();
    const auto source =
        recording::open_source(from.input, from.perf ? &*from.perf : nullptr, given.selection);
    source->read([&](const recording::record& record) { result.add(record); });
    source->warn_about_gaps(given.is_strict);
    return result;
}

void compare_files(const options& given) {
    std::list<opened> files;
    for (const auto& path : {given.first, given.second})
        files.emplace_back(path);
    tracing::held_signals held;
    for (opened& file : files)
        if (recording::is_perf_data(file.input))
            file.perf.emplace(file.input, given.selection.is_raw);
    recording::isolated_work work;
    work.read = [&] {
        const auto before = measure(given, files.front());
        const auto after = measure(given, files.back());
        if (given.as_json)
            print_json_comparison(before, after);
        else
            print_comparison(before, after, given.with_all);
        text::flush();
    };
    work.finish = [&] {
        for (opened& file : files)
            if (file.perf)
                file.perf->finish();
    };
    // Its memory is limited by the size of one of the files, and does not depend on it.
    recording::isolate(held, files.front().input, std::move(work));
}

} // namespace

action compare(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positional("FIRST", given->first, "a recording, for example before a change");
    with.positional("SECOND", given->second, "another one, for example after it");
    with.optional_positional(
        "PATTERN", given->selection.pattern,
        "only these events, such as 'order_*', 'sched:*' or 'MyProvider:Request*'");
    with.option("-f,--filter", "FILTER", given->selection.filter,
                "only records for which this is true, such as 'cents > 300'");
    with.option("--pair", "BEGIN,END,KEY", given->pairs,
                "two events that begin and end something, and the field that says what");
    given->choice.declare(with);
    given->cut.declare(with);
    given->cut.declare_programs(with);
    with.flag("--all", given->with_all, "also what does not differ by more than chance");
    with.flag("--json", given->as_json, "all, as a JSON document");
    with.flag("--raw", given->selection.is_raw, "do not decode payloads that describe themselves");
    with.flag("--strict", given->is_strict, "fail if records are missing");
    return [given] {
        exporting::to_pairs(given->pairs);
        given->selection.choice = given->choice.read();
        given->selection.cut = given->cut.read();
        compare_files(*given);
    };
}

} // namespace tool
