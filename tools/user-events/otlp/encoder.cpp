// SPDX-License-Identifier: GPL-2.0-only
#include "otlp/encoder.hpp"

#include "otlp/severity.hpp"
#include "otlp/wall_clock.hpp"
#include "text/errors.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <google/protobuf/arena.h>
#include <google/protobuf/util/json_util.h>

namespace tool::otlp {

namespace {

/// Records of a request. Collectors take 4 MB and more; a record has some hundred bytes.
constexpr std::uint64_t most_records = 4096;
constexpr std::uint64_t most_bytes = 1 << 20;
/// Spans that may be open at a time.
constexpr std::size_t most_open = 100'000;
constexpr char scope_name[] = "user-events";
constexpr int internal_kind = 1;
constexpr int cumulative = 2;
constexpr int warning = 13;

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

/// OTLP has these as hexadecimal digits in JSON, unlike other bytes.
void to_hexadecimal(nlohmann::ordered_json& in, const char* key) {
    const auto found = in.find(key);
    if (found == in.end())
        return;
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string result;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char each : found->get<std::string>()) {
        const auto value = digits.find(each);
        if (value == digits.npos)
            break;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        if (count += 6; count >= 8) {
            count -= 8;
            fmt::format_to(std::back_inserter(result), "{:02x}", bits >> count & 0xff);
        }
    }
    *found = result;
}

void fix_identifiers(nlohmann::ordered_json& in, const char* resources, const char* scopes,
                     const char* items) {
    if (!in.contains(resources))
        return;
    for (auto& resource : in[resources])
        for (auto& scope : resource[scopes])
            for (auto& item : scope[items])
                for (const char* const key : {"traceId", "spanId", "parentSpanId"})
                    to_hexadecimal(item, key);
}

std::string to_json(const google::protobuf::Message& message) {
    google::protobuf::util::JsonPrintOptions options;
    options.always_print_enums_as_ints = true;
    std::string text;
    if (!MessageToJsonString(message, &text, options).ok())
        throw text::failure("protobuf cannot write JSON");
    auto document = nlohmann::ordered_json::parse(text);
    fix_identifiers(document, "resourceLogs", "scopeLogs", "logRecords");
    fix_identifiers(document, "resourceSpans", "scopeSpans", "spans");
    return document.dump();
}

} // namespace

/// A beginning. Its log record has all of it, in case no end comes.
struct encoder::open_span {
    message::Span span;
    message::LogRecord log;
    std::string resource;
    int event;
    int thread;
};

/// The requests that are being made, and where the resource's records go in them.
struct encoder::batches {
    /// Has the memory of both requests, so that few allocations are needed.
    google::protobuf::Arena arena;
    message::ExportLogsServiceRequest& logs = make<message::ExportLogsServiceRequest>();
    message::ExportTraceServiceRequest& spans = make<message::ExportTraceServiceRequest>();
    std::map<std::string, message::ScopeLogs*> logs_of;
    std::map<std::string, message::ScopeSpans*> spans_of;
    std::uint64_t log_records = 0;
    std::uint64_t span_records = 0;
    /// Of the records in all.
    std::uint64_t bytes = 0;

    template <typename Message>
    Message& make() {
        return *google::protobuf::Arena::CreateMessage<Message>(&arena);
    }
    message::LogRecord& add_log(const std::string& key, const message::Resource& resource) {
        auto*& scope = logs_of[key];
        if (!scope) {
            auto& added = *logs.add_resource_logs();
            *added.mutable_resource() = resource;
            scope = added.add_scope_logs();
            scope->mutable_scope()->set_name(scope_name);
        }
        return *scope->add_log_records();
    }
    message::Span& add_span(const std::string& key, const message::Resource& resource) {
        auto*& scope = spans_of[key];
        if (!scope) {
            auto& added = *spans.add_resource_spans();
            *added.mutable_resource() = resource;
            scope = added.add_scope_spans();
            scope->mutable_scope()->set_name(scope_name);
        }
        return *scope->add_spans();
    }
};

encoder::encoder(encoding as, const std::vector<exporting::pair>& pairs, resources& resources,
                 std::function<void(request)> use)
    : as_(as), resources_(resources), use_(std::move(use)),
      matcher_(std::make_unique<matcher>(pairs)), batches_(std::make_unique<batches>()),
      random_(std::random_device()()),
      start_(static_cast<std::uint64_t>(nanoseconds(CLOCK_REALTIME))), observed_(start_) {}

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
    batches_->bytes += record.data.size();
    if (batches_->log_records + batches_->span_records >= most_records ||
        batches_->bytes >= most_bytes)
        flush();
}

namespace {

void fill(message::LogRecord& to, const recording::record& from, std::uint64_t observed) {
    to.set_time_unix_nano(from.time);
    to.set_observed_time_unix_nano(std::max(from.time, observed));
    assign_utf8(*to.mutable_event_name(), from.event->registered_name());
    if (const auto severity = severity_of(from)) {
        to.set_severity_number(severity->number);
        assign_utf8(*to.mutable_severity_text(), severity->text);
        if (const auto* const body = text_field(*from.event))
            set(*to.mutable_body(), *body, read(*body, from.data));
    }
    add_fields(*to.mutable_attributes(), from, none);
    add_origin(*to.mutable_attributes(), from);
}

} // namespace

void encoder::add_log(const recording::record& record, const open_span* in) {
    const std::string& key = resources_.key_of(record);
    message::LogRecord& log = batches_->add_log(key, resources_.find(key));
    fill(log, record, observed_);
    if (in) {
        log.set_trace_id(in->span.trace_id());
        log.set_span_id(in->span.span_id());
    }
    batches_->log_records++;
}

std::string encoder::random_bytes(std::size_t size) {
    std::string result;
    while (result.size() < size) {
        const std::uint64_t number = random_();
        result.append(reinterpret_cast<const char*>(&number),
                      std::min(sizeof(number), size - result.size()));
    }
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
    fill(to.log, record, observed_);
    const open_span* const around = innermost(record.pid);
    to.span.set_trace_id(around ? around->span.trace_id() : random_bytes(16));
    to.span.set_span_id(random_bytes(8));
    if (around)
        to.span.set_parent_span_id(around->span.span_id());
    assign_utf8(*to.span.mutable_name(), name);
    to.span.set_kind(internal_kind);
    to.span.set_start_time_unix_nano(record.time);
    add_fields(*to.span.mutable_attributes(), record,
               not_shown(tracks_.convention_of(*record.event)));
    add_origin(*to.span.mutable_attributes(), record);
    open_++;
}

/// A field of the end that has another value than that of the beginning is "end.NAME".
void encoder::add_span(const open_span& begun, const recording::record& end) {
    message::Span& span = batches_->add_span(begun.resource, resources_.find(begun.resource));
    span = begun.span;
    span.set_end_time_unix_nano(std::max(end.time, begun.span.start_time_unix_nano()));
    attribute_list of_end;
    add_fields(of_end, end, not_shown(tracks_.convention_of(*end.event)));
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
    batches_->span_records += 2;
    open_--;
}

void encoder::add_unfinished(const open_span& begun) {
    batches_->add_log(begun.resource, resources_.find(begun.resource)) = begun.log;
    batches_->log_records++;
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

template <typename Message>
void encoder::send(signal as, std::uint64_t records, const Message& message) {
    use_({as, records, as_ == encoding::json ? to_json(message) : message.SerializeAsString()});
}

void encoder::flush() {
    if (batches_->logs.resource_logs_size())
        send(signal::logs, batches_->log_records, batches_->logs);
    if (batches_->spans.resource_spans_size())
        send(signal::traces, batches_->span_records, batches_->spans);
    batches_ = std::make_unique<batches>();
    observe();
}

void encoder::report(const drop_counts& drops) {
    if (drops == reported_)
        return;
    const auto now = static_cast<std::uint64_t>(nanoseconds(CLOCK_REALTIME));
    message::ExportMetricsServiceRequest metrics;
    auto& resource = *metrics.add_resource_metrics();
    *resource.mutable_resource() = resources_.own();
    auto& scope = *resource.add_scope_metrics();
    scope.mutable_scope()->set_name(scope_name);
    auto& metric = *scope.add_metrics();
    metric.set_name("user_events.dropped");
    metric.set_description("Records that were not shipped, by the reason.");
    metric.set_unit("{record}");
    metric.mutable_sum()->set_aggregation_temporality(cumulative);
    metric.mutable_sum()->set_is_monotonic(true);
    for (const auto& [why, count] : drops) {
        auto& point = *metric.mutable_sum()->add_data_points();
        point.set_start_time_unix_nano(start_);
        point.set_time_unix_nano(now);
        point.set_as_int(static_cast<std::int64_t>(count));
        otlp::add(*point.mutable_attributes(), "reason", why);
        if (const std::uint64_t added = count - std::min(count, reported_[why])) {
            message::LogRecord& log = batches_->add_log("", resources_.own());
            log.set_time_unix_nano(now);
            log.set_observed_time_unix_nano(now);
            log.set_severity_number(warning);
            log.set_severity_text("warning");
            log.set_event_name("user_events.dropped");
            log.mutable_body()->set_string_value(
                fmt::format("{} records were dropped: {}", added, why));
            otlp::add(*log.mutable_attributes(), "reason", why);
            otlp::add(*log.mutable_attributes(), "count", static_cast<std::int64_t>(added));
        }
    }
    reported_ = drops;
    flush();
    send(signal::metrics, 0, metrics);
}

} // namespace tool::otlp
