// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/observation_options.hpp"
#include "recording/record.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/output.hpp"
#include "tracing/events.hpp"
#include "tracing/following.hpp"
#include "tracing/histogram.hpp"
#include "tracing/live_source.hpp"
#include "tracing/rules.hpp"
#include "tracing/selector.hpp"
#include "tracing/signals.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace tool {

namespace {

struct options {
    observation_options live;
    std::string event;
    std::vector<std::string> keys;
    double duration = 0;
    bool log2 = false;
};

using buckets = std::vector<tracing::histogram::bucket>;

/// The kernel counts as many, and the tool does the same.
constexpr std::size_t most_buckets = 2048;

void warn_of_dropped(std::uint64_t dropped) {
    if (dropped)
        text::warn(fmt::format("{} records with other values were not counted, because there are "
                               "{} already",
                               dropped, most_buckets));
}

void print(const std::string& name, const buckets& buckets) {
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
    text::print(fmt::format("{}: {} records\n", text::escaped(name), total));
    for (const auto& bucket : buckets)
        text::print(fmt::format("{:<{}} {:>10} {}{}{}\n", text::escaped(bucket.keys), width,
                                bucket.count, text::code(text::style::blue),
                                std::string(bucket.count * room / most, '#'),
                                text::code(text::style::plain)));
    text::flush();
}

/// Calls `update` every now and then, and shows the buckets that it returns: each second on a
/// terminal, and at the end.
template <typename Update>
void show_until_end(const options& given, tracing::stop_signals& signals, const std::string& name,
                    int pause_ms, Update update) {
    using clock = std::chrono::steady_clock;
    const auto end = clock::now() + std::chrono::duration<double>(given.duration);
    auto next = clock::now() + std::chrono::seconds(1);
    if (given.duration > 0)
        pause_ms = static_cast<int>(std::min<double>(pause_ms, given.duration * 1000));
    for (bool ended = false; !ended;) {
        ended = signals.wait(pause_ms) || (given.duration > 0 && clock::now() >= end);
        const buckets counted = update(ended);
        if (!ended && (!text::is_terminal() || clock::now() < next))
            continue;
        next = clock::now() + std::chrono::seconds(1);
        if (text::is_terminal())
            text::print("\x1b[H\x1b[J");
        print(name, counted);
    }
}

std::string trigger_of(const options& given) {
    std::string trigger = "hist:keys=";
    for (const auto& key : given.keys)
        trigger += fmt::format("{}{}{}", &key == given.keys.data() ? "" : ",",
                               key == "process" ? "common_pid.execname" : key,
                               given.log2 && key != "process" ? ".log2" : "");
    if (!given.live.filter.empty())
        trigger += " if " + given.live.filter;
    return trigger;
}

/// The trigger of an event that counts the records of some programs: a rule has it.
tracing::temporary_rule make_rule(const tracing::scope& programs, const tracing::instance& in,
                                  const tracing::event_name& name, const std::string& trigger) {
    if (programs.has_children || !recording::is_registered_system(name.system))
        throw text::usage_error(
            fmt::format("`hist` cannot {} for {}:{}",
                        programs.has_children ? "use --children" : "choose programs", name.system,
                        name.event),
            "--filter 'common_pid == N' counts the records of a thread");
    if (!tracing::has_rules())
        throw text::failure("`hist` can choose programs only with rules",
                            tracing::remedy_without_rules() +
                                "; --filter 'common_pid == N' counts the records of a thread");
    programs.require();
    tracing::rule rule{.pattern = tracing::pattern_of(name), .trigger = trigger};
    rule.options[tracing::rule::instance] = in.name();
    programs.limit(rule);
    return tracing::temporary_rule(std::move(rule));
}

void count_in_kernel(const options& given, tracing::stop_signals& signals,
                     const tracing::event_name& name) {
    // An instance of its own: the histogram goes with it.
    const auto in = tracing::instance::temporary();
    const std::string trigger = trigger_of(given);
    const std::string folder = name.directory();
    const auto programs = given.live.programs.read();
    std::optional<tracing::temporary_rule> rule;
    int error = 0;
    if (programs.is_all())
        error = in.try_write(folder + "/trigger", trigger);
    else if (rule.emplace(make_rule(programs, in, name, trigger));
             !in.try_read(folder + "/trigger").value_or("").starts_with("hist:"))
        error = EINVAL;
    if (error)
        throw text::failure(
            fmt::format("cannot make the histogram \"{}\" of {}", trigger, name.event),
            error == EINVAL ? "its keys are fields of the event, or `process`; `user-events list` "
                              "shows the fields; PROVIDER:EVENT has the fields in payloads"
                            : text::remedy_for(error, in.path(folder)));
    in.write("tracing_on", "1");
    std::uint64_t dropped = 0;
    show_until_end(given, signals, name.event, 1000, [&](bool is_last) {
        if (!is_last && !text::is_terminal())
            return buckets();
        // There is one unless the event was removed.
        const auto histograms = tracing::to_histograms(in.read(folder + "/hist"));
        if (histograms.empty())
            return buckets();
        dropped = histograms.front().dropped;
        return histograms.front().buckets;
    });
    warn_of_dropped(dropped);
    if (!rule)
        in.write(folder + "/trigger", "!" + trigger);
}

/// Counts by the values of fields in payloads, which the kernel does not know.
class payload_counter {
public:
    payload_counter(const options& given, const tracing::instance& in,
                    const tracing::wanted_events& wanted, std::optional<eventheader::filter> filter)
        : given_(given), source_(in, wanted, std::move(filter)) {}

    void read() {
        source_.read([this](const recording::record& record) {
            if (record.event->is_described)
                add(record);
            return true;
        });
    }

    /// In the order in which the kernel has them.
    buckets counted() const {
        buckets result;
        for (const auto& [keys, count] : counts_)
            result.push_back({keys, count, {}});
        std::stable_sort(result.begin(), result.end(),
                         [](const auto& a, const auto& b) { return a.count < b.count; });
        return result;
    }

    void warn() const {
        source_.warn_of_unknown_fields();
        if (without_fields_)
            text::warn(fmt::format("{} records lack a field to count by", without_fields_));
        warn_of_dropped(dropped_);
        if (const auto lost = source_.lost())
            text::warn(fmt::format("{} records were lost", lost));
    }

private:
    void add(const recording::record& record) {
        const auto cells = row_.fill(to_shown_event(record));
        std::string keys;
        for (const auto& key : given_.keys) {
            const auto value = key == "process" ? std::string(record.task) : value_of(cells, key);
            if (!value) {
                without_fields_++;
                return;
            }
            keys += fmt::format("{}{}: {}", keys.empty() ? "" : ", ", key, *value);
        }
        const auto found = counts_.find(keys);
        if (found != counts_.end())
            found->second++;
        else if (counts_.size() < most_buckets)
            counts_[keys] = 1;
        else
            dropped_++;
    }

    /// A name is also that of a field in a struct. Those of the header are in front.
    std::optional<std::string> value_of(std::span<const eventheader::cell> cells,
                                        const std::string& key) const {
        const auto found = std::find_if(cells.rbegin(), cells.rend(), [&](const auto& cell) {
            return cell.name == key || cell.name.ends_with("." + key);
        });
        if (found == cells.rend())
            return {};
        using eventheader::number_kind;
        if (given_.log2 &&
            (found->kind == number_kind::natural || found->kind == number_kind::integer))
            // As the kernel, which rounds up and takes negative numbers for large ones.
            return fmt::format("~ 2^{}",
                               found->number <= 1 ? 0 : std::bit_width(found->number - 1));
        return found->text;
    }

    const options& given_;
    tracing::live_source source_;
    eventheader::cell_row row_;
    std::map<std::string, std::uint64_t> counts_;
    std::uint64_t without_fields_ = 0;
    std::uint64_t dropped_ = 0;
};

void count_in_payloads(const options& given, tracing::stop_signals& signals) {
    constexpr int pause_ms = 50;
    // The kernel does not know what it compares.
    if (!given.live.filter.empty())
        (void)recording::to_filter(given.live.filter);
    auto [wanted, filter] = given.live.filtered();
    const auto in = tracing::instance::temporary();
    payload_counter counter(given, in, wanted, std::move(filter));
    tracing::following following(in, wanted);
    in.write("tracing_on", "1");
    show_until_end(given, signals, given.event, pause_ms, [&](bool is_last) {
        following.update();
        counter.read();
        return is_last || text::is_terminal() ? counter.counted() : buckets();
    });
    counter.warn();
}

/// The kernel does not know the fields in them.
bool has_payloads_of_dotnet(const tracing::event_name& name) {
    tracing::formats formats;
    const tep_event* const format = formats.find(name);
    return format && recording::event_type(*format).is_eventpipe;
}

void show_histogram(const options& given) {
    tracing::stop_signals signals;
    const tracing::pattern wanted = given.live.wanted().patterns.front();
    const auto names = tracing::events(wanted);
    if (names.empty() && wanted.is_for_providers())
        return count_in_payloads(given, signals);
    if (!given.live.choice.read().is_all())
        throw text::usage_error("--level and --keyword are for PROVIDER:EVENT");
    if (names.empty())
        tracing::throw_no_event(wanted, "`user-events list` lists the events");
    if (names.size() != 1)
        throw text::failure(fmt::format("{} events match {}", names.size(), given.event),
                            "a histogram is of one event: `user-events list` lists them");
    if (has_payloads_of_dotnet(names[0]))
        return count_in_payloads(given, signals);
    count_in_kernel(given, signals, names[0]);
}

} // namespace

action hist(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positional("EVENT", given->event,
                    "an event, such as order_placed, sched:sched_switch or MyProvider:Request");
    given->live.group.declare(with);
    with.required_positionals("FIELD", given->keys, "fields to count by, or `process`");
    given->live.declare_filter(with, "count only records for which this is true");
    given->live.declare_choice(with);
    with.flag("--log2", given->log2, "count numbers by powers of two");
    with.duration("-d,--duration", given->duration, "end after this time");
    return [given] {
        given->live.patterns = {given->event};
        show_histogram(*given);
    };
}

} // namespace tool
