// SPDX-License-Identifier: GPL-2.0-or-later
// The format of Perfetto, which ui.perfetto.dev and its trace_processor read.
#include "export/exporter.hpp"
#include "export/protobuf_trace.hpp"
#include "export/tracks.hpp"

#include <fmt/format.h>
#include <map>
#include <utility>

namespace tool::exporting {

namespace {

/// A row of its own for what overlaps: pairs of events, and activities.
struct open_row {
    span_rows::place place;
    std::uint64_t track;
};

class perfetto_exporter final : public exporter, interpreter {
public:
    explicit perfetto_exporter(const options& options)
        : interpreter(options.pairs), trace_(options.file) {}

    void add(const recording::record& record) override {
        begin_at(record.time);
        interpret(record);
    }

    void add_gap(const recording::gap& gap) override {
        begin_at(gap.time);
        trace_.add_gap(gap);
    }

    void finish() override { trace_.finish(); }

private:
    void begin_at(std::uint64_t time) {
        if (std::exchange(is_first_, false))
            trace_.begin(time);
    }

    std::uint64_t process_of(int process, std::string_view name) {
        const auto [at, is_new] = processes_.try_emplace(process, 0);
        if (is_new)
            at->second = trace_.add_process(process, name);
        return at->second;
    }
    std::uint64_t process_of(const recording::record& record) {
        return process_of(record.process(), record.process_name);
    }

    std::uint64_t thread_of(const recording::record& record) {
        process_of(record);
        const auto [at, is_new] = threads_.try_emplace({record.process(), record.pid}, 0);
        if (is_new)
            at->second = trace_.add_thread(record.process(), record.pid, record.task);
        return at->second;
    }

    /// Without the fields that the picture shows.
    void annotate(protobuf_event& event, const recording::record& record,
                  const convention* shown = nullptr) {
        if (record.event->is_described) {
            for (const eventheader::cell& cell :
                 cells_.fill(to_shown_event(record), recording::stack_field, shown_stack(record)))
                event.annotate(cell);
            return;
        }
        for (const recording::field& field : record.event->fields)
            if (!shown || !shown->has(field))
                event.annotate(field, read(field, record.data));
    }

    void add_named(event_kind kind, std::uint64_t track, const recording::record& record,
                   std::string_view name, const convention* shown = nullptr) {
        protobuf_event& event = trace_.event(kind, track);
        event.name(name);
        annotate(event, record, shown);
        trace_.add(record.time);
    }

    void add_end(std::uint64_t track, const recording::record& record,
                 const convention* shown = nullptr) {
        annotate(trace_.event(event_kind::slice_end, track), record, shown);
        trace_.add(record.time);
    }

    void add_moment(const recording::record& record, const span_mark& /*mark*/) override {
        name_.clear();
        append_name(name_, record);
        add_named(event_kind::instant, thread_of(record), record, name_);
    }

    std::uint64_t parent_of(const track& track, const recording::record& record) {
        if (track.thread)
            return thread_of(record);
        return track.process == record.process() ? process_of(record)
                                                 : process_of(track.process, "");
    }

    /// The track of a slice or counter of the convention.
    std::uint64_t track_of(const recording::record& record, const convention& fields) {
        const track track = tracks().of(record, fields);
        if (track.is_own)
            return thread_of(record);
        const auto [at, is_new] = own_tracks_.try_emplace(track.number, 0);
        if (is_new)
            at->second =
                trace_.add_track(parent_of(track, record), track.name, fields.is_counter());
        return at->second;
    }

    void add_counter(const recording::record& record, const convention& fields) override {
        protobuf_event& event = trace_.event(event_kind::counter, track_of(record, fields));
        event.counter(read(*fields.counter_value, record.data));
        trace_.add(record.time);
    }

    void add_slice(const recording::record& record, const convention& fields) override {
        const slice_mark mark = slice_mark_of(record, fields);
        const std::uint64_t track = track_of(record, fields);
        if (mark.role == slice_mark::role::end) {
            add_end(track, record, &fields);
            return;
        }
        const bool begins = mark.role == slice_mark::role::begin;
        protobuf_event& event =
            trace_.event(begins ? event_kind::slice_begin : event_kind::instant, track);
        event.name(mark.name);
        if (fields.flow && begins)
            if (const std::uint64_t flow = read(*fields.flow, record.data).natural)
                event.flow(flow);
        annotate(event, record, &fields);
        trace_.add(record.time);
    }

    /// The first row of this name in the process that is free.
    open_row take_row(const recording::record& record, const span_key& key) {
        const auto place = rows_.take(key, record.process());
        const auto [at, is_new] = row_tracks_.try_emplace(place, 0);
        if (is_new)
            at->second = trace_.add_track(
                process_of(record),
                place.lane ? fmt::format("{} {}", key.group, place.lane + 1) : key.group);
        return {place, at->second};
    }

    /// The records of one activity are in one row, which others take when the activity has ended.
    void begin_span(const recording::record& record, const span_mark& mark) override {
        const open_row* const same = mark.key.is_pair() ? nullptr : spans_.last(mark.key);
        const open_row row = same ? *same : take_row(record, mark.key);
        if (const auto replaced = spans_.open(mark, row)) {
            trace_.event(event_kind::slice_end, replaced->track).annotate("unfinished", 1);
            trace_.add(record.time);
            rows_.free(replaced->place);
        }
        add_named(event_kind::slice_begin, row.track, record, mark.name);
    }

    void end_span(const recording::record& record, const span_mark& mark) override {
        const auto begin = spans_.close(mark);
        if (!begin) {
            add_moment(record, mark);
            return;
        }
        if (!spans_.last(mark.key))
            rows_.free(begin->second.place);
        add_end(begin->second.track, record);
    }

    protobuf_trace trace_;
    open_spans<open_row> spans_;
    span_rows rows_;
    eventheader::cell_row cells_;
    std::string name_;
    std::map<int, std::uint64_t> processes_;
    std::map<std::pair<int, int>, std::uint64_t> threads_;
    std::map<std::size_t, std::uint64_t> own_tracks_; // by the number of the track table
    std::map<span_rows::place, std::uint64_t> row_tracks_;
    bool is_first_ = true;
};

} // namespace

std::unique_ptr<exporter> make_perfetto(const options& options) {
    return std::make_unique<perfetto_exporter>(options);
}

} // namespace tool::exporting
