// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/output.hpp"
#include "tracing/events.hpp"
#include "tracing/histogram.hpp"
#include "tracing/signals.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <memory>

namespace tool {

namespace {

struct options {
    std::string event;
    std::vector<std::string> keys;
    std::string filter;
    double duration = 0;
    bool log2 = false;
};

void print(const tracing::event_name& name, const std::vector<tracing::histogram>& histograms) {
    // There is one unless the event was removed.
    const auto buckets =
        histograms.empty() ? std::vector<tracing::histogram::bucket>() : histograms.front().buckets;
    std::size_t width = 0;
    std::uint64_t most = 1, total = 0;
    for (const auto& bucket : buckets) {
        width = std::max(width, text::escaped(bucket.keys).size());
        most = std::max(most, bucket.count);
        total += bucket.count;
    }
    const int columns = text::columns() ? text::columns() : 80;
    const auto room =
        static_cast<std::uint64_t>(std::max<long>(columns - static_cast<long>(width) - 14, 10));
    text::print(fmt::format("{}: {} records\n", text::escaped(name.event), total));
    for (const auto& bucket : buckets)
        text::print(fmt::format("{:<{}} {:>10} {}{}{}\n", text::escaped(bucket.keys), width,
                                bucket.count, text::code(text::style::blue),
                                std::string(bucket.count * room / most, '#'),
                                text::code(text::style::plain)));
    text::flush();
}

void show_histogram(const options& given) {
    tracing::stop_signals signals;
    const auto names = tracing::events(tracing::pattern(given.event));
    if (names.empty())
        tracing::throw_no_event(tracing::pattern(given.event),
                                "`user-events list` lists the events");
    if (names.size() != 1)
        throw text::failure(fmt::format("{} events match {}", names.size(), given.event),
                            "a histogram is of one event: `user-events list` lists them");
    // An instance of its own: the histogram goes with it.
    const auto in = tracing::instance::temporary("mono");
    std::string trigger = "hist:keys=";
    for (const auto& key : given.keys)
        trigger += fmt::format("{}{}{}", &key == given.keys.data() ? "" : ",",
                               key == "process" ? "common_pid.execname" : key,
                               given.log2 && key != "process" ? ".log2" : "");
    if (!given.filter.empty())
        trigger += " if " + given.filter;
    const std::string folder = names[0].directory();
    if (const int error = in.try_write(folder + "/trigger", trigger))
        throw text::failure(
            fmt::format("cannot make the histogram \"{}\" of {}", trigger, names[0].event),
            error == EINVAL ? "its keys are fields of the event, or `process`; `user-events list` "
                              "shows the fields"
                            : text::remedy_for(error, in.path(folder)));
    in.write("tracing_on", "1");
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(given.duration);
    for (bool ended = false; !ended;) {
        ended =
            signals.wait(given.duration > 0 ? std::min(1000, int(given.duration * 1000)) : 1000) ||
            (given.duration > 0 && std::chrono::steady_clock::now() >= end);
        if (!ended && !text::is_terminal())
            continue;
        if (text::is_terminal())
            text::print("\x1b[H\x1b[J");
        print(names[0], tracing::to_histograms(in.read(folder + "/hist")));
    }
    in.write(folder + "/trigger", "!" + trigger);
}

} // namespace

action hist(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positional("EVENT", given->event, "an event, such as order_placed or sched:sched_switch");
    with.required_positionals("FIELD", given->keys, "fields to count by, or `process`");
    with.option("-f,--filter", "FILTER", given->filter,
                "count only records for which this is true");
    with.flag("--log2", given->log2, "count numbers by powers of two");
    with.duration("-d,--duration", given->duration, "end after this time");
    return [given] { show_histogram(*given); };
}

} // namespace tool
