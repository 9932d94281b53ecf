// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/recording_options.hpp"
#include "export/comparison.hpp"
#include "recording/isolate.hpp"
#include "recording/merged.hpp"
#include "recording/opened.hpp"
#include "text/errors.hpp"
#include "text/new_file.hpp"
#include "text/output.hpp"
#include "tracing/signals.hpp"

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
    recording_options which;
    recording::selection selection;
    bool with_all = false;
    bool as_json = false;
    std::string page;
};

exporting::measured measure(const options& given, recording::source& from,
                            const std::string& name) {
    exporting::measured result(exporting::to_pairs(given.pairs));
    result.file = name;
    from.read([&](const recording::record& record) { result.add(record); });
    return result;
}

void compare_files(const options& given) {
    recording::opened_recording first({given.first}), second({given.second});
    std::optional<text::new_file> page;
    if (!given.page.empty() && text::is_output_as_it_is(given.page))
        page.emplace(given.page);
    tracing::held_signals held;
    if (!given.page.empty() && !page)
        page.emplace(given.page);
    for (auto* file : {&first, &second})
        file->start(given.selection.is_raw);
    recording::isolated_work work;
    work.read = [&] {
        const auto from_first = first.read(given.selection);
        const auto before = measure(given, *from_first, first.name());
        const auto from_second = second.read(given.selection);
        const auto after = measure(given, *from_second, second.name());
        if (page)
            write_comparison_page(*page, before, after);
        else if (given.as_json)
            print_json_comparison(before, after);
        else
            print_comparison(before, after, given.with_all);
        text::flush();
        // With --strict, it throws: what was compared is complete by now.
        recording::warn_about_gaps({from_first.get(), from_second.get()}, given.which.is_strict());
    };
    work.finish = [&] {
        for (auto* file : {&first, &second})
            file->finish();
        if (page)
            page->finish();
    };
    recording::isolate(held, first.name(), first.size() + second.size(), std::move(work));
}

} // namespace

action compare(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positional("FIRST", given->first, "a recording, for example before a change");
    with.positional("SECOND", given->second, "another one, for example after it");
    given->which.declare(with);
    with.option("--pair", "BEGIN,END,KEY", given->pairs,
                "two events that begin and end a slice, and the field that both have in common; "
                "can be repeated");
    with.flag("--all", given->with_all, "also what does not differ by more than chance");
    with.flag("--json", given->as_json, "all, as a JSON document");
    with.option("--html", "FILE", given->page, "all, as a page for a browser");
    return [given] {
        exporting::to_pairs(given->pairs);
        if (given->as_json && !given->page.empty())
            throw text::usage_error("--json and --html exclude each other");
        given->selection = given->which.read();
        compare_files(*given);
    };
}

} // namespace tool
