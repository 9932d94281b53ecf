// SPDX-License-Identifier: GPL-2.0-or-later
// The JSON trace format, which ui.perfetto.dev, chrome://tracing and speedscope read.
#include "export/exporter.hpp"
#include "export/output_file.hpp"
#include "export/tracks.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <set>
#include <unordered_set>
#include <utility>

namespace tool::exporting {

namespace {

/// The format has no tracks but threads. Those that are none have numbers that no thread has.
constexpr std::int64_t first_track = 1'000'000'000;

std::int64_t thread_of(std::size_t track) {
    return first_track + static_cast<std::int64_t>(track);
}

struct open_pair {
    std::uint64_t time;
    int process;
    span_rows::place place;
    std::string arguments;
};

class perfetto_json_exporter final : public exporter, interpreter {
public:
    explicit perfetto_json_exporter(const options& options)
        : interpreter(options.pairs), file_(options.file) {
        file_.text() = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    }

    void add(const recording::record& record) override {
        advance_to(record.time);
        name_thread(record);
        interpret(record);
        file_.advance();
    }

    /// A line across all tracks.
    void add_gap(const recording::gap& gap) override {
        advance_to(gap.time);
        gaps_++;
        lost_ += gap.lost;
        const std::string name =
            gap.lost ? fmt::format("{} records lost", gap.lost) : "records lost";
        std::string& to = begin_event('i', name, 0, gap.cpu);
        to += ",\"s\":\"g\"";
        add_time(to, gap.time);
        to += ",\"args\":";
        append_json_line(to, gap);
        to.back() = '}'; // instead of the end of the line
        file_.advance();
    }

    void finish() override {
        pairs_.rest([this](const span_key& key, const std::string&, const open_pair& begin) {
            add_pair_slice(key, begin, last_, ",\"unfinished\":true");
        });
        for (const auto& [process, name] : processes_)
            add_name("process_name", process, process, name);
        // The time of the first record, from which wall-clock times are counted: the format's
        // numbers have too few digits for them.
        file_.text() += "\n],\"otherData\":{\"start\":\"";
        recording::append_seconds(file_.text(), start_);
        fmt::format_to(std::back_inserter(file_.text()), "\",\"lost_records\":{},\"gaps\":{}}}}}\n",
                       lost_, gaps_);
        file_.finish();
    }

private:
    void advance_to(std::uint64_t time) {
        if (is_first_)
            start_ = recording::is_wall_clock(time) ? time : 0;
        last_ = time;
    }

    std::string& begin_event(char phase, std::string_view name, int process, std::int64_t thread) {
        std::string& to = file_.text();
        to += is_first_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
        is_first_ = false;
        to += phase;
        to += "\",\"name\":";
        text::append_json(to, name);
        to += ",\"pid\":";
        text::append_json(to, process);
        to += ",\"tid\":";
        text::append_json(to, thread);
        return to;
    }

    /// Microseconds, with nanoseconds behind the point.
    static void append_microseconds(std::string& to, std::uint64_t time) {
        text::append_json(to, time / 1000);
        const std::uint64_t rest = time % 1000;
        to += '.';
        to += static_cast<char>('0' + rest / 100);
        to += static_cast<char>('0' + rest / 10 % 10);
        to += static_cast<char>('0' + rest % 10);
    }

    void add_time(std::string& to, std::uint64_t time) const {
        to += ",\"ts\":";
        append_microseconds(to, time < start_ ? 0 : time - start_);
    }

    void add_name(const char* what, int process, std::int64_t thread, std::string_view name) {
        std::string& to = begin_event('M', what, process, thread);
        to += ",\"args\":{\"name\":";
        text::append_json(to, name);
        to += "}}";
    }

    void name_thread(const recording::record& record) {
        if (threads_.insert({record.process(), record.pid}).second)
            add_name("thread_name", record.process(), record.pid, record.task);
        processes_.try_emplace(record.process(), record.process_name);
    }

    /// Appends the fields that the picture does not show, and the end of the event.
    static void add_arguments(std::string& to, const recording::record& record,
                              const convention* fields) {
        to += ",\"args\":";
        if (!fields) {
            append_json_fields(to, record);
            to += '}';
            return;
        }
        char separator = '{';
        for (const recording::field& field : record.event->fields) {
            if (fields->has(field))
                continue;
            to += separator;
            separator = ',';
            text::append_json(to, field.name);
            to += ':';
            append_json(to, field, read(field, record.data));
        }
        to += separator == '{' ? "{}}" : "}}";
    }

    void add_moment(const recording::record& record, const span_mark& /*mark*/) override {
        std::string name;
        append_name(name, record);
        add_instant(record, name, record.pid, record.process(), nullptr);
    }

    void add_instant(const recording::record& record, std::string_view name, std::int64_t thread,
                     int process, const convention* fields) {
        std::string& to = begin_event('i', name, process, thread);
        to += ",\"s\":\"t\"";
        add_time(to, record.time);
        add_arguments(to, record, fields);
    }

    void add_slice(const recording::record& record, const convention& fields) override {
        const slice_mark mark = slice_mark_of(record, fields);
        const track track = tracks().of(record, fields);
        const std::int64_t thread = track.is_own ? track.thread : thread_of(track.number);
        if (track.is_new && !track.is_own)
            add_name("thread_name", track.process, thread,
                     track.thread ? fmt::format("{} ({})", track.name, record.task) : track.name);
        if (mark.role == slice_mark::role::moment) {
            add_instant(record, mark.name, thread, track.process, &fields);
            return;
        }
        const bool begins = mark.role == slice_mark::role::begin;
        // An end has the name of its beginning.
        std::string& to = begins ? begin_event('B', mark.name, track.process, thread)
                                 : begin_event('E', read(*fields.slice_name, record.data).text(),
                                               track.process, thread);
        add_time(to, record.time);
        if (fields.flow && begins)
            add_flow(to, read(*fields.flow, record.data).natural);
        add_arguments(to, record, &fields);
    }

    /// Readers draw an arrow to the slice from the last one of the same flow. A slice that ends a
    /// flow is one that continues it, because the exporter does not know what comes later.
    void add_flow(std::string& to, std::uint64_t id) {
        if (id == 0)
            return;
        fmt::format_to(std::back_inserter(to), ",\"bind_id\":\"{:#x}\"{},\"flow_out\":true", id,
                       flows_.insert(id).second ? "" : ",\"flow_in\":true");
    }

    void add_counter(const recording::record& record, const convention& fields) override {
        const track track = tracks().of(record, fields);
        std::string& to = begin_event('C', track.name, track.process, record.pid);
        // Readers tell counters of one name apart by this.
        to += ",\"id\":";
        text::append_json(to, track.number);
        add_time(to, record.time);
        to += ",\"args\":{\"value\":";
        append_json(to, *fields.counter_value, read(*fields.counter_value, record.data));
        to += "}}";
    }

    void begin_span(const recording::record& record, const span_mark& mark) override {
        if (!mark.key.is_pair()) {
            activities_.open(mark, {});
            add_activity('b', record, mark.key, mark.name);
            return;
        }
        open_pair begin{record.time, record.process(), rows_.take(mark.key, record.process()),
                        "{\"begin\":"};
        append_json_fields(begin.arguments, record);
        if (const auto replaced = pairs_.open(mark, std::move(begin)))
            add_pair_slice(mark.key, *replaced, record.time, ",\"unfinished\":true");
    }

    void end_span(const recording::record& record, const span_mark& mark) override {
        if (const auto begin = activities_.close(mark)) {
            add_activity('e', record, mark.key, begin->first);
        } else if (const auto pair = pairs_.close(mark)) {
            std::string arguments = ",\"end\":";
            append_json_fields(arguments, record);
            add_pair_slice(mark.key, pair->second, record.time, arguments);
        } else {
            add_moment(record, mark);
        }
    }

    /// Slices of an activity may end in another thread. Readers nest those of one category and id,
    /// and find the beginning by its name.
    void add_activity(char phase, const recording::record& record, const span_key& key,
                      std::string_view name) {
        std::string& to = begin_event(phase, name, record.process(), record.pid);
        to += ",\"cat\":";
        text::append_json(to, key.group);
        to += ",\"id\":";
        text::append_json(to, key.id);
        add_time(to, record.time);
        add_arguments(to, record, nullptr);
    }

    void add_pair_slice(const span_key& key, const open_pair& begin, std::uint64_t end,
                        std::string_view more) {
        rows_.free(begin.place);
        const auto [at, is_new] = row_tracks_.try_emplace(begin.place, 0);
        if (is_new) {
            at->second = thread_of(tracks().next());
            add_name("thread_name", begin.process, at->second,
                     begin.place.lane ? fmt::format("{} {}", key.group, begin.place.lane + 1)
                                      : key.group);
        }
        std::string& to = begin_event('X', key.group, begin.process, at->second);
        add_time(to, begin.time);
        to += ",\"dur\":";
        // Times go back in a damaged file.
        append_microseconds(to, end - std::min(end, begin.time));
        to += ",\"args\":";
        to += begin.arguments;
        to += more;
        to += "}}";
    }

    output_file file_;
    struct nothing {};
    open_spans<nothing> activities_;
    open_spans<open_pair> pairs_;
    span_rows rows_;
    std::map<span_rows::place, std::int64_t> row_tracks_;
    std::unordered_set<std::uint64_t> flows_;
    std::set<std::pair<int, int>> threads_;
    std::map<int, std::string> processes_;
    std::uint64_t start_ = 0;
    std::uint64_t last_ = 0;
    std::uint64_t gaps_ = 0;
    std::uint64_t lost_ = 0;
    bool is_first_ = true;
};

} // namespace

std::unique_ptr<exporter> make_perfetto_json(const options& options) {
    return std::make_unique<perfetto_json_exporter>(options);
}

} // namespace tool::exporting
