// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/observation_options.hpp"
#include "recording/record.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
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
#include <span>
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

constexpr std::string_view process_key = "process";

[[noreturn]] void throw_no_histogram(const std::string& trigger, const std::string& event) {
    throw text::failure(
        fmt::format("cannot make the histogram \"{}\" of {}", trigger, event),
        "its keys are fields of the event, or `process`; `user-events list` shows the fields; "
        "PROVIDER:EVENT has the fields in payloads");
}

/// The kernel counts as many, and the tool does the same.
constexpr std::size_t most_buckets = 2048;

void warn_of_dropped(std::uint64_t dropped) {
    if (dropped)
        text::warn(fmt::format("{} records with other values were not counted, because there are "
                               "{} already",
                               dropped, most_buckets));
}

/// The numbers in "a: -5, b: ~ 2^7", where a power of two is its exponent; nothing for a text.
std::optional<std::vector<long double>> numbers_of(const std::string& keys) {
    std::vector<long double> result;
    for (std::size_t at = 0; at < keys.size();) {
        const auto end = std::min(keys.find(", ", at), keys.size());
        std::string_view key = std::string_view(keys).substr(at, end - at);
        at = end + 2;
        key.remove_prefix(std::min(key.find(": "), key.size() - 2) + 2);
        const bool is_power = key.starts_with("~ ");
        key.remove_prefix(is_power ? 2 : 0);
        const bool is_negative = key.starts_with('-');
        key.remove_prefix(is_negative);
        if (is_power && key.starts_with("2^"))
            key.remove_prefix(2);
        const auto number = text::to_number<double>(key);
        if (!number)
            return {};
        // 2^0 is more than -2^0.
        const long double amount = is_power ? *number + 1 : *number;
        result.push_back(is_negative ? -amount : amount);
    }
    return result;
}

/// By value, if all are numbers; otherwise as they were, by count.
buckets sorted(const buckets& from) {
    std::vector<std::pair<std::vector<long double>, std::size_t>> order;
    for (std::size_t i = 0; i < from.size(); i++) {
        auto numbers = numbers_of(from[i].keys);
        if (!numbers)
            return from;
        order.emplace_back(std::move(*numbers), i);
    }
    std::sort(order.begin(), order.end());
    buckets result;
    for (const auto& each : order)
        result.push_back(from[each.second]);
    return result;
}

void print(const std::string& name, const buckets& unsorted) {
    const buckets buckets = sorted(unsorted);
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
/// terminal, and at the end. Returns the status of the program that ran meanwhile, or 0.
template <typename Update>
int show_until_end(const options& given, tracing::stop_signals& signals, const std::string& name,
                   int pause_ms, Update update) {
    using clock = std::chrono::steady_clock;
    constexpr int pause_of_program_ms = 50;
    auto program = given.live.start_program();
    if (program)
        pause_ms = std::min(pause_ms, pause_of_program_ms);
    const auto end = clock::now() + std::chrono::duration<double>(given.duration);
    auto next = clock::now() + std::chrono::seconds(1);
    if (given.duration > 0)
        pause_ms = static_cast<int>(std::min<double>(pause_ms, given.duration * 1000));
    for (bool ended = false; !ended;) {
        ended = signals.wait(pause_ms) || (program && program->has_ended()) ||
                (given.duration > 0 && clock::now() >= end);
        const buckets counted = update(ended);
        if (!ended && (!text::is_terminal() || clock::now() < next))
            continue;
        next = clock::now() + std::chrono::seconds(1);
        if (text::is_terminal())
            text::print("\x1b[H\x1b[J");
        print(name, counted);
    }
    return program ? program->status() : 0;
}

std::string trigger_of(const options& given) {
    std::string trigger = "hist:keys=";
    for (const auto& key : given.keys)
        trigger += fmt::format("{}{}{}", &key == given.keys.data() ? "" : ",", key,
                               given.log2 ? ".log2" : "");
    if (!given.live.filter.empty())
        trigger += " if " + recording::to_kernel_filter(given.live.filter);
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

/// The kernel shows a negative number as one of 64 bits without a sign.
std::string with_signs(const std::string& keys, const recording::event_type& type) {
    std::string result;
    for (std::size_t at = 0; at < keys.size();) {
        const auto end = std::min(keys.find(", ", at), keys.size());
        std::string key = keys.substr(at, end - at);
        const auto colon = std::min(key.find(": "), key.size());
        const recording::field* const field = type.find(key.substr(0, colon));
        const auto number = text::to_number<std::uint64_t>(
            std::string_view(key).substr(std::min(colon + 2, key.size())));
        if (field && field->is_signed && number)
            key = fmt::format("{}: {}", field->name, static_cast<std::int64_t>(*number));
        result += (result.empty() ? "" : ", ") + key;
        at = end + 2;
    }
    return result;
}

int count_in_kernel(const options& given, tracing::stop_signals& signals,
                    const tracing::event_name& name, const recording::event_type& type) {
    // An instance of its own: the histogram goes with it.
    const auto in = tracing::instance::temporary();
    const std::string trigger = trigger_of(given);
    const std::string folder = name.directory();
    const auto programs = given.live.programs.read();
    std::optional<tracing::temporary_rule> rule;
    int error = 0;
    if (!given.live.filter.empty())
        tracing::set_filter(in, name, recording::to_kernel_filter(given.live.filter));
    if (programs.is_all())
        error = in.try_write(folder + "/trigger", trigger);
    else if (rule.emplace(make_rule(programs, in, name, trigger));
             !in.try_read(folder + "/trigger").value_or("").starts_with("hist:"))
        error = EINVAL;
    if (error == EINVAL)
        throw_no_histogram(trigger, name.event);
    if (error)
        throw text::failure(
            fmt::format("cannot make the histogram \"{}\" of {}", trigger, name.event),
            text::remedy_for(error, in.path(folder)));
    in.write("tracing_on", "1");
    std::uint64_t dropped = 0;
    const int status = show_until_end(given, signals, name.event, 1000, [&](bool is_last) {
        if (!is_last && !text::is_terminal())
            return buckets();
        // There is one unless the event was removed.
        const auto histograms = tracing::to_histograms(in.read(folder + "/hist"));
        if (histograms.empty())
            return buckets();
        dropped = histograms.front().dropped;
        auto counted = histograms.front().buckets;
        for (auto& bucket : counted)
            bucket.keys = with_signs(bucket.keys, type);
        return counted;
    });
    warn_of_dropped(dropped);
    if (!rule)
        in.write(folder + "/trigger", "!" + trigger);
    return status;
}

/// Counts records that the tool itself reads.
class record_counter {
public:
    record_counter(const options& given, const tracing::instance& in,
                   const tracing::wanted_events& wanted, std::optional<eventheader::filter> filter,
                   bool has_payloads)
        : given_(given), has_payloads_(has_payloads),
          source_(in, wanted, std::move(filter),
                  {.change = [has_payloads](recording::event_type& type) {
                      type.is_described &= has_payloads;
                  }}) {}

    void read() {
        source_.read([this](const recording::record& record) {
            if (record.event->is_described == has_payloads_)
                add(record);
            return true;
        });
    }

    /// In the order in which the kernel has them.
    buckets counted() const {
        buckets result;
        for (const auto& [values, count] : counts_) {
            std::string keys;
            for (std::size_t i = 0; i < values.size(); i++)
                keys += fmt::format("{}{}: {}", i ? ", " : "", given_.keys[i], values[i]);
            result.push_back({std::move(keys), count, {}});
        }
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
        std::span<const eventheader::cell> cells;
        if (has_payloads_)
            cells = row_.fill(to_shown_event(record));
        std::vector<std::string> values;
        for (const auto& key : given_.keys) {
            auto value = key == process_key ? std::string(record.task)
                         : has_payloads_    ? value_of(cells, key)
                                            : value_of(record, key);
            if (!value) {
                without_fields_++;
                return;
            }
            values.push_back(std::move(*value));
        }
        const auto found = counts_.find(values);
        if (found != counts_.end())
            found->second++;
        else if (counts_.size() < most_buckets)
            counts_[std::move(values)] = 1;
        else
            dropped_++;
    }

    /// The next power of two, as the kernel has it. Of a negative number, that of its amount.
    static std::string power_of(std::uint64_t bits, bool is_signed) {
        const bool is_negative = is_signed && static_cast<std::int64_t>(bits) < 0;
        const std::uint64_t amount = is_negative ? -bits : bits;
        return fmt::format("~ {}2^{}", is_negative ? "-" : "",
                           amount <= 1 ? 0 : std::bit_width(amount - 1));
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
            return power_of(found->number, found->kind == number_kind::integer);
        return found->text;
    }

    std::optional<std::string> value_of(const recording::record& record,
                                        const std::string& key) const {
        const recording::field* const field = record.event->find(key);
        if (!field)
            return {};
        const auto value = recording::read(*field, record.data);
        using recording::kind;
        if (value.kind == kind::absent)
            return {};
        if (given_.log2 && (value.kind == kind::natural || value.kind == kind::integer))
            return power_of(value.natural, value.kind == kind::integer);
        if (value.kind == kind::text)
            return std::string(value.text());
        std::string text;
        append_text(text, *field, value);
        return text;
    }

    const options& given_;
    bool has_payloads_;
    tracing::live_source source_;
    eventheader::cell_row row_;
    std::map<std::vector<std::string>, std::uint64_t> counts_;
    std::uint64_t without_fields_ = 0;
    std::uint64_t dropped_ = 0;
};

/// `event` is nothing if it does not exist yet, or payloads have the fields to count by.
int count_records(const options& given, tracing::stop_signals& signals,
                  const tracing::event_name* event, bool has_payloads) {
    constexpr int pause_ms = 50;
    auto [wanted, filter] = given.live.filtered(!has_payloads);
    const auto in = tracing::instance::temporary();
    if (!wanted.filter.empty() && event)
        tracing::set_filter(in, *event, wanted.filter);
    record_counter counter(given, in, wanted, std::move(filter), has_payloads);
    tracing::following following(in, wanted);
    in.write("tracing_on", "1");
    const int status = show_until_end(
        given, signals, event ? event->event : given.event, pause_ms, [&](bool is_last) {
            following.update();
            counter.read();
            return is_last || text::is_terminal() ? counter.counted() : buckets();
        });
    counter.warn();
    following.require_all();
    return status;
}

/// The kernel's text of a histogram has no end of a text, of a program's name in particular, and no
/// sign or fraction of a number.
bool can_count_in_kernel(const options& given, const recording::event_type& type) {
    using recording::kind;
    return std::all_of(given.keys.begin(), given.keys.end(), [&](const std::string& key) {
        const recording::field* const field = type.find(key);
        return key != process_key && (!field || field->kind == kind::natural ||
                                      (field->kind == kind::integer && !given.log2));
    });
}

void require_fields(const options& given, const recording::event_type& type) {
    bool has_number = false;
    for (const auto& key : given.keys) {
        const recording::field* const field = type.find(key);
        if (!field && key != process_key)
            throw_no_histogram(trigger_of(given), type.name);
        has_number |= field && (field->kind == recording::kind::natural ||
                                field->kind == recording::kind::integer);
    }
    if (given.log2 && !has_number)
        throw text::usage_error(fmt::format("--log2 counts numbers, and {} has none of them in {}",
                                            type.name, fmt::join(given.keys, ", ")),
                                "without --log2, `hist` counts by the text");
}

/// Returns the status of the program.
int show_histogram(const options& given) {
    tracing::stop_signals signals;
    const tracing::pattern wanted = given.live.filtered().events.patterns.front();
    const auto names = tracing::events(wanted);
    if (names.empty() && wanted.is_for_providers())
        return count_records(given, signals, nullptr, true);
    if (names.empty() && wanted.is_for_user_events() && tracing::has_user_events())
        return count_records(given, signals, nullptr, false);
    if (!given.live.choice.read().is_all())
        throw text::usage_error("--level and --keyword are for PROVIDER:EVENT");
    if (names.empty())
        tracing::throw_no_event(wanted, "`user-events list` lists the events");
    if (names.size() != 1)
        throw text::failure(fmt::format("{} events match {}", names.size(), given.event),
                            "a histogram is of one event: `user-events list` lists them");
    tracing::formats formats;
    const tep_event* const format = formats.find(names[0]);
    const recording::event_type type =
        format ? recording::event_type(*format)
               : recording::event_type(0, names[0].system, names[0].event);
    // The kernel does not know the fields in them.
    if (type.is_eventpipe)
        return count_records(given, signals, nullptr, true);
    if (can_count_in_kernel(given, type))
        return count_in_kernel(given, signals, names[0], type);
    require_fields(given, type);
    return count_records(given, signals, &names[0], false);
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
    given->live.declare_program(with);
    return [given] {
        given->live.patterns = {given->event};
        // As the kernel's histograms call it.
        std::replace(given->keys.begin(), given->keys.end(), std::string("common_pid.execname"),
                     std::string(process_key));
        if (const int status = show_histogram(*given))
            throw text::silent_failure{status};
    };
}

} // namespace tool
