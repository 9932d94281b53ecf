// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/record_options.hpp"

#include "text/errors.hpp"
#include "text/number.hpp"

#include <fmt/format.h>
#include <limits>

namespace tool {

void record_options::declare(arguments& with) {
    live.declare_patterns(with, "user events, such as 'order_*' or 'MyProvider:*'; without PATTERN "
                                "and without -e, all of them");
    with.option("-o,--output", "FILE", output, "the file (default: trace.dat)");
    live.declare_from(with);
    with.option("-e,--event", "SYSTEM:EVENT", others,
                "events of the kernel, such as sched:sched_switch");
    live.declare_filter(with);
    live.declare_choice(with);
    with.duration("-d,--duration", duration, "end after this time");
    with.size("-s,--size", size,
              "end when the records have this size; with --keep, begin the next file");
    with.duration("--time", time, "begin the next file after this time: FILE.000001 and so on");
    with.option("--keep", "N", keep, "how many files of a recording in parts stay, or all");
    with.option("--on", "EVENT", on,
                "EVENT or 'EVENT if FILTER': write what was recorded before it; can be repeated");
    with.duration("--last", last, "with --on, leave out what is older than this");
    live.declare_buffer(with);
    with.choice("--stack", "WHOSE", stack, {"none", "user", "kernel", "both"},
                "the functions that are active at each record (default: none)");
    with.flag("-b,--background", background,
              "record in the background, and print the number of the process");
    with.flag("--recover", recover, "finish the FILE of a recording that was killed or failed");
    live.declare_program(with);
}

std::uint64_t record_options::kept_parts() const {
    if (keep.empty() || keep == "all")
        return std::numeric_limits<std::uint64_t>::max();
    const auto number = text::to_number<std::uint64_t>(keep);
    if (number.value_or(0) == 0)
        throw text::usage_error(fmt::format("--keep: {} is no number of files", keep),
                                "give 1 or more, or all");
    return *number;
}

std::vector<tracing::stop_condition> record_options::stop_conditions() const {
    std::vector<tracing::stop_condition> result;
    result.reserve(on.size());
    for (const auto& text : on)
        result.emplace_back(text, live.group.name);
    return result;
}

void record_options::check() const {
    live.require_alone();
    if (live.has_from() && wanted_stacks().is_any())
        throw text::usage_error(
            "--from and --stack exclude each other",
            "root can switch on the instance's options stacktrace and userstacktrace");
    // Pages are recorded as they are.
    if (live.has_from() && (!live.patterns.empty() || !others.empty() || !live.group.name.empty() ||
                            !live.filter.empty() || !live.choice.read().is_all()))
        throw text::usage_error("--from records all that the instance does",
                                "choose when the file is read: user-events report FILE PATTERN "
                                "--filter FILTER");
    if (!keep.empty() && time == 0 && size == 0 && !waits())
        throw text::usage_error("--keep needs --size, --time or --on",
                                "they say when the next file begins");
    (void)kept_parts();
    (void)stop_conditions();
    if (last > 0 && !waits())
        throw text::usage_error("--last needs --on", "it says before what");
    if (waits() && (size > 0 || time > 0 || live.has_from()))
        throw text::usage_error("--on excludes --size, --time and --from",
                                "with --keep, each trigger makes a file");
}

} // namespace tool
