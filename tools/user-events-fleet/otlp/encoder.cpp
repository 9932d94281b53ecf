// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/encoder.hpp"

#include "otlp/json.hpp"
#include "otlp/severity.hpp"
#include "otlp/wall_clock.hpp"
#include "text/errors.hpp"

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
/// Spans that may be open at a time.
constexpr std::size_t most_open = 100'000;
constexpr int internal_kind = 1;

/// The convention says what a slice looks like; the rest are attributes.
auto not_shown(const exporting::convention& fields) {
    return [&fields](const recording::field& field) { return fields.has(field); };
}

bool none(const recording::field& /*field*/) {
    return false;
}

const recording::field* text_field(const recording::event_type& event) {
    for (const char* const name : {"text", "message"})
        if (const auto* field = event.find(name); field && field->kind == recording::kind::text)
            return field;
    return nullptr;
}

} // namespace

/// A beginning. Its log record has all of it, in case no end comes.
struct encoder::open_span {
    message::Span span;
    std::string log;
    std::string resource;
    int event;
    int thread;
};

encoder::encoder(encoding as, const std::vector<exporting::pair>& pairs, resources& resources,
                 std::function<void(request)> use)
    : as_(as), resources_(resources), use_(std::move(use)),
      matcher_(std::make_unique<matcher>(pairs)), logs_(resources), spans_(resources),
      observed_(static_cast<std::uint64_t>(nanoseconds(CLOCK_REALTIME))) {}

encoder::~encoder() = default;

void encoder::observe() {
    observed_ = static_cast<std::uint64_t>(nanoseconds(CLOCK_REALTIME));
}

void encoder::add(const recording::record& record) {
    const auto match = matcher_->find(record);
    const exporting::convention& fields = tracks_.convention_of(*record.event);
    const bool is_span = match.role != matcher::role::none ? add_pair(record, match)
                         : fields.is_slice()               ? add_slice(record, fields)
                                                           : false;
    if (!is_span)
        add_log(record, innermost(record.pid));
    limit_open_spans();
    if (logs_.records() + spans_.records() >= most_records ||
        logs_.size() + spans_.size() >= most_bytes)
        flush();
}

namespace {

/// The attributes keep their memory, see class attributes.
void clear(message::LogRecord& to) {
    attribute_list kept;
    kept.Swap(to.mutable_attributes());
    to.Clear();
    kept.Swap(to.mutable_attributes());
}

void fill(message::LogRecord& to, const recording::record& from, std::uint64_t observed) {
    clear(to);
    to.set_time_unix_nano(from.time);
    to.set_observed_time_unix_nano(std::max(from.time, observed));
    assign_utf8(*to.mutable_event_name(), from.event->registered_name());
    if (const auto severity = severity_of(from)) {
        to.set_severity_number(severity->number);
        assign_utf8(*to.mutable_severity_text(), severity->text);
        if (const auto* const body = text_field(*from.event))
            set(*to.mutable_body(), *body, read(*body, from.data));
    }
    attributes(*to.mutable_attributes()).add_fields(from, none);
}

} // namespace

void encoder::add_log(const recording::record& record, const open_span* in) {
    logs_.add(resources_.key_of(record), serialized(record, in), 1);
}

const std::string& encoder::serialized(const recording::record& record, const open_span* in) {
    fill(log_, record, observed_);
    if (in) {
        log_.set_trace_id(in->span.trace_id());
        log_.set_span_id(in->span.span_id());
    }
    log_.SerializeToString(&serialized_);
    return serialized_ += origin_of(record);
}

const std::string& encoder::origin_of(const recording::record& record) {
    origin& known = origins_[{record.pid, record.cpu}];
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
    random_.resize(random_.size() - size);
    return result;
}

const encoder::open_span* encoder::innermost(int thread) const {
    if (slices_.empty())
        return nullptr;
    const auto found = slices_.find(fmt::format("thread {}", thread));
    return found == slices_.end() || found->second.empty() ? nullptr : &found->second.back();
}

void encoder::begin(const recording::record& record, std::string_view name, open_span& to) {
    to.resource = resources_.key_of(record);
    to.event = record.event->id;
    to.thread = record.pid;
    to.log = serialized(record);
    const open_span* const around = innermost(record.pid);
    to.span.set_trace_id(around ? around->span.trace_id() : random_bytes(16));
    to.span.set_span_id(random_bytes(8));
    if (around)
        to.span.set_parent_span_id(around->span.span_id());
    assign_utf8(*to.span.mutable_name(), name);
    to.span.set_kind(internal_kind);
    to.span.set_start_time_unix_nano(record.time);
    attributes attributes(*to.span.mutable_attributes());
    attributes.add_fields(record, not_shown(tracks_.convention_of(*record.event)));
    attributes.add_origin(record);
    open_++;
}

/// A field of the end that has another value than that of the beginning is "end.NAME".
void encoder::add_span(const open_span& begun, const recording::record& end) {
    message::Span span = begun.span;
    span.set_end_time_unix_nano(std::max(end.time, begun.span.start_time_unix_nano()));
    attribute_list of_end;
    attributes(of_end).add_fields(end, not_shown(tracks_.convention_of(*end.event)));
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
    open_--;
}

void encoder::add_unfinished(const open_span& begun) {
    logs_.add(begun.resource, begun.log, 1);
    open_--;
}

std::string encoder::slices_key(const recording::record& record,
                                const exporting::convention& fields) {
    const bool is_of_thread =
        !fields.scope &&
        (!fields.track_name || read(*fields.track_name, record.data).text().empty());
    return is_of_thread ? fmt::format("thread {}", record.pid)
                        : fmt::format("track {}", tracks_.of(record, fields).number);
}

/// Returns false for a moment, and for an end without a beginning.
bool encoder::add_slice(const recording::record& record, const exporting::convention& fields) {
    const auto type = static_cast<char>(read(*fields.type, record.data).natural);
    const std::string_view text = read(*fields.type, record.data).text();
    const char what = text.empty() ? type : text.front();
    auto& begun = slices_[slices_key(record, fields)];
    if (what == 'B') {
        open_span added;
        const auto name = read(*fields.slice_name, record.data).text();
        begin(record, name.empty() ? std::string_view(record.event->name) : name, added);
        begun.push_back(std::move(added));
        return true;
    }
    const auto last = std::find_if(begun.rbegin(), begun.rend(), [&](const open_span& each) {
        return each.event == record.event->id;
    });
    if (what != 'E' || last == begun.rend())
        return false;
    add_span(*last, record);
    begun.erase(std::next(last).base());
    return true;
}

bool encoder::add_pair(const recording::record& record, const matcher::match& match) {
    if (match.role == matcher::role::end) {
        const auto begun = matcher_->close(match);
        if (begun)
            add_span(*begun, record);
        return begun.has_value();
    }
    open_span added;
    begin(record, matcher_->name_of(match), added);
    if (const auto replaced = matcher_->open(match, std::move(added)))
        add_unfinished(*replaced);
    return true;
}

void encoder::limit_open_spans() {
    if (open_ <= most_open)
        return;
    text::warn(
        fmt::format("{} slices have begun without an end: they are shipped as log records", open_));
    finish();
}

void encoder::finish() {
    for (auto& [key, begun] : slices_)
        for (const open_span& each : begun)
            add_unfinished(each);
    slices_.clear();
    matcher_->rest([this](std::size_t /*pair*/, const open_span& each) { add_unfinished(each); });
    matcher_->clear();
    flush();
}

void encoder::send(signal which, std::uint64_t records, std::string request) {
    use_({which, records, as_ == encoding::json ? to_json(which, request) : std::move(request)});
}

void encoder::send(signal which, batch& made) {
    const std::uint64_t records = made.records();
    if (!made.is_empty())
        send(which, records, made.take());
}

void encoder::flush() {
    send(signal::logs, logs_);
    send(signal::traces, spans_);
    origins_.clear();
    observe();
}

} // namespace tool::otlp
