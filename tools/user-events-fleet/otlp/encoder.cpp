// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/encoder.hpp"

#include "eventheader/words.hpp"
#include "otlp/described.hpp"
#include "otlp/json.hpp"
#include "text/errors.hpp"
#include "tracing/wall_clock.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace tool::otlp {

namespace {

/// Of a request. Collectors take 4 MB and more; a record has some hundred bytes.
constexpr std::uint64_t most_records = 4096;
constexpr std::size_t most_bytes = 2 << 20;
/// Spans that may be open at a time, and bytes of memory that these may take. A record of 4 kB with
/// many small fields takes some 100 kB.
constexpr std::size_t most_open = 100'000;
constexpr std::size_t most_open_size = 256 << 20;
constexpr int internal_kind = 1;

/// The convention says what a slice looks like; the rest are attributes.
auto not_shown(const exporting::convention& fields) {
    return [&fields](const recording::field& field) { return fields.has(field); };
}

/// The key of a thread's own slices. `has_slices` is false here, and true in the key of a track: so
/// the two never collide.
exporting::track_key thread_key(int thread) {
    exporting::track_key result;
    result.scope = static_cast<std::uint64_t>(thread);
    return result;
}

exporting::track_key slices_key(const recording::record& record,
                                const exporting::convention& fields) {
    auto key = exporting::track_key_of(record, fields);
    return fields.scope || !key.name.empty() ? std::move(key) : thread_key(record.pid);
}

void add_origin(attribute_list& to, const recording::record& from) {
    attributes(to, to.size()).add_origin(from);
}

} // namespace

/// A beginning. Its log record has all of it, in case no end comes.
struct encoder::open_span {
    message::Span span;
    std::string log;
    std::string resource;
    int thread;
    /// In memory.
    std::size_t size;
};

encoder::encoder(encoding as, const std::vector<exporting::pair>& pairs, resources& resources,
                 std::function<void(request)> use)
    : interpreter(pairs), as_(as), resources_(resources), use_(std::move(use)), logs_(resources),
      spans_(resources),
      observed_(static_cast<std::uint64_t>(tracing::nanoseconds(CLOCK_REALTIME))) {}

encoder::~encoder() = default;

void encoder::observe() {
    observed_ = static_cast<std::uint64_t>(tracing::nanoseconds(CLOCK_REALTIME));
}

void encoder::add(const recording::record& record) {
    interpret(record);
    limit_open_spans();
    limit_request();
}

void encoder::add_log(const recording::record& record, const open_span* in) {
    const filled made = fill(log_, record, observed_);
    if (made.kind == schema::span)
        return add_finished_span(record);
    // A program that says nothing of a trace may nevertheless be in one.
    if (in && log_.trace_id().empty() && log_.span_id().empty()) {
        log_.set_trace_id(in->span.trace_id());
        log_.set_span_id(in->span.span_id());
    }
    logs_.add(resources_.key_of(record, made.own), serialized(record), 1);
}

/// What log_ has been filled with, serialized, until the next call.
const std::string& encoder::serialized(const recording::record& record) {
    log_.SerializeToString(&serialized_);
    return serialized_ += origin_of(record);
}

/// A span that the program has written when it was complete. log_ has its attributes.
void encoder::add_finished_span(const recording::record& record) {
    message::Span span;
    span.set_kind(internal_kind);
    const service own = promote(*log_.mutable_attributes(), span);
    add_origin(*span.mutable_attributes(), record);
    spans_.add(resources_.key_of(record, own), span.SerializeAsString(), 1);
}

const std::string& encoder::origin_of(const recording::record& record) {
    origin& known = origins_[{record.pid, record.cpu, record.event->sample}];
    if (known.serialized.empty() || known.task != record.task) {
        message::LogRecord made;
        attributes(*made.mutable_attributes()).add_origin(record);
        known = {std::string(record.task), made.SerializeAsString()};
    }
    return known.serialized;
}

std::string encoder::random_bytes(std::size_t size) {
    if (random_.size() < size) {
        random_.resize(256);
        if (getentropy(random_.data(), random_.size()) != 0)
            throw text::failure(std::string("cannot get random numbers: ") + std::strerror(errno));
    }
    std::string result = random_.substr(random_.size() - size);
    random_.erase(random_.size() - size);
    return result;
}

const encoder::open_span* encoder::innermost(int thread) const {
    if (slices_.empty())
        return nullptr;
    const auto found = slices_.find(thread_key(thread));
    return found == slices_.end() ? nullptr : &found->second.last();
}

void encoder::begin(const recording::record& record, std::string_view name, const open_span* around,
                    open_span& to) {
    to.resource = resources_.key_of(record);
    to.thread = record.pid;
    fill(log_, record, observed_);
    to.log = serialized(record);
    to.span.set_trace_id(around ? around->span.trace_id() : new_trace(record));
    to.span.set_span_id(random_bytes(8));
    if (around)
        to.span.set_parent_span_id(around->span.span_id());
    assign_utf8(*to.span.mutable_name(), name);
    to.span.set_kind(internal_kind);
    to.span.set_start_time_unix_nano(record.time);
    fill_own(*to.span.mutable_attributes(), record);
    add_origin(*to.span.mutable_attributes(), record);
    // The key in slices_ or open_spans_ takes memory, too. Its text is part of the log record.
    to.size = to.span.SpaceUsedLong() + 2 * to.log.size() + to.resource.size();
    open_++;
    open_size_ += to.size;
}

void encoder::count_closed(const open_span& begun) {
    open_--;
    open_size_ -= begun.size;
}

/// An activity is the same in all processes that take part in it.
std::string encoder::new_trace(const recording::record& record) {
    const auto activity = record.event->is_described ? to_shown_event(record).event.activity.data
                                                     : eventheader::bytes();
    std::string result(eventheader::to_text(activity));
    return result.find_first_not_of('\0') == result.npos ? random_bytes(16) : result;
}

void encoder::fill_own(attribute_list& to, const recording::record& from) {
    if (!from.event->is_described) {
        attributes(to).add_fields(from, not_shown(tracks().convention_of(*from.event)));
        return;
    }
    const eventheader::shown_event shown = to_shown_event(from);
    attributes all(to);
    otlp::add_described(all, shown);
    add_header(all, shown);
}

/// A field of the end that has another value than that of the beginning is "end.NAME".
void encoder::add_span(const open_span& begun, const recording::record& end) {
    message::Span span = begun.span;
    span.set_end_time_unix_nano(std::max(end.time, begun.span.start_time_unix_nano()));
    attribute_list of_end;
    fill_own(of_end, end);
    for (auto& attribute : of_end) {
        const auto same = std::find_if(
            begun.span.attributes().begin(), begun.span.attributes().end(),
            [&](const message::KeyValue& each) { return each.key() == attribute.key(); });
        if (same == begun.span.attributes().end()) {
            *span.add_attributes() = attribute;
        } else if (same->SerializeAsString() != attribute.SerializeAsString()) {
            attribute.set_key("end." + attribute.key());
            *span.add_attributes() = attribute;
        }
    }
    spans_.add(begun.resource, span.SerializeAsString(), 2);
    count_closed(begun);
}

void encoder::add_unfinished(const open_span& begun) {
    logs_.add(begun.resource, begun.log, 1);
    count_closed(begun);
    limit_request();
}

/// Returns false for a moment, and for an end without a beginning.
bool encoder::take_slice(const recording::record& record, const exporting::convention& fields) {
    using exporting::slice_mark;
    const slice_mark mark = exporting::slice_mark_of(record, fields);
    if (mark.role == slice_mark::role::moment)
        return false;
    auto key = slices_key(record, fields);
    if (mark.role == slice_mark::role::begin) {
        open_span added;
        begin(record, mark.name, innermost(record.pid), added);
        slices_[std::move(key)].add(record.event->id, std::move(added));
        return true;
    }
    const auto found = slices_.find(key);
    if (found == slices_.end())
        return false;
    spans& begun = found->second;
    const auto last = begun.take(record.event->id);
    if (!last)
        return false;
    add_span(last->second, record);
    if (begun.is_empty())
        slices_.erase(found);
    return true;
}

void encoder::add_slice(const recording::record& record, const exporting::convention& fields) {
    if (!take_slice(record, fields))
        add_moment(record, {});
}

void encoder::add_counter(const recording::record& record, const exporting::convention& fields) {
    if (!fields.is_slice() || !take_slice(record, fields))
        add_moment(record, {});
}

/// In the innermost activity that the record belongs to, or else in the thread's innermost slice.
void encoder::add_moment(const recording::record& record, const exporting::span_mark& mark) {
    const open_span* const last = open_spans_.last(mark.key);
    add_log(record, last ? last : innermost(record.pid));
}

/// The last start of the same activity, or else that of the related one.
const encoder::open_span* encoder::related(const recording::record& record,
                                           const exporting::span_mark& mark) const {
    if (mark.key.is_pair())
        return nullptr;
    if (const open_span* const same = open_spans_.last(mark.key))
        return same;
    const auto id = eventheader::activity_text(to_shown_event(record).event.related_activity);
    return id.empty() ? nullptr : open_spans_.last({.group = mark.key.group, .id = id});
}

void encoder::begin_span(const recording::record& record, const exporting::span_mark& mark) {
    const open_span* const parent = related(record, mark);
    open_span added;
    begin(record, mark.name, parent ? parent : innermost(record.pid), added);
    if (const auto replaced = open_spans_.open(mark, std::move(added)))
        add_unfinished(*replaced);
}

void encoder::end_span(const recording::record& record, const exporting::span_mark& mark) {
    if (const auto begun = open_spans_.close(mark))
        add_span(begun->second, record);
    else
        add_moment(record, mark);
}

void encoder::limit_open_spans() {
    if (open_ <= most_open && open_size_ <= most_open_size)
        return;
    if (!std::exchange(has_warned_, true))
        text::warn(fmt::format(
            "{} slices have begun without an end: they are shipped as log records", open_));
    finish();
}

void encoder::limit_request() {
    if (logs_.records() + spans_.records() >= most_records ||
        logs_.size() + spans_.size() >= most_bytes)
        flush();
}

void encoder::finish() {
    for (auto& [key, begun] : slices_)
        for (const auto& [event, each] : begun)
            add_unfinished(each);
    slices_.clear();
    open_spans_.rest([this](const exporting::span_key& /*key*/, const std::string& /*name*/,
                            const open_span& each) { add_unfinished(each); });
    open_spans_.clear();
    flush();
}

void encoder::send(signal which, batch& made) {
    if (made.is_empty())
        return;
    const std::uint64_t records = made.records();
    std::string request = made.take();
    use_({which, records, as_ == encoding::json ? to_json(which, request) : std::move(request)});
}

void encoder::flush() {
    send(signal::logs, logs_);
    send(signal::traces, spans_);
    origins_.clear();
    observe();
}

} // namespace tool::otlp
