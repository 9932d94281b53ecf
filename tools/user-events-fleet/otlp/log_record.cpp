// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/log_record.hpp"

#include "otlp/described.hpp"
#include "otlp/severity.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace tool::otlp {

namespace {

/// The fields that are the body of a record with a severity.
constexpr const char* body_names[] = {"text", "message"};

/// The names of events that exporters of OpenTelemetry write without having one.
constexpr std::string_view no_names[] = {"Log", "OpenTelemetry-Logs"};

bool none(const recording::field& /*field*/) {
    return false;
}

const recording::field* text_field(const recording::event_type& event) {
    for (const char* const name : body_names)
        if (const auto* field = event.find(name); field && field->kind == recording::kind::text)
            return field;
    return nullptr;
}

/// The attributes keep their memory, see class attributes.
void clear(message::LogRecord& to) {
    attribute_list kept;
    kept.Swap(to.mutable_attributes());
    to.Clear();
    kept.Swap(to.mutable_attributes());
}

void set_severity(message::LogRecord& to, const severity& severity) {
    to.set_severity_number(severity.number);
    assign_utf8(*to.mutable_severity_text(), severity.text);
}

void set_body(message::LogRecord& to) {
    for (const char* const name : body_names)
        for (const message::KeyValue& each : to.attributes())
            if (each.key() == name && each.value().has_string_value()) {
                *to.mutable_body() = each.value();
                return;
            }
}

/// An exporter of OTLP would have sent this. The time at which the program has handed over the
/// record is that of the kernel.
service fill_log_of_schema(message::LogRecord& to, const recording::record& from,
                           const eventheader::event& event) {
    std::string name;
    eventheader::append_unescaped(name, name_of(event));
    to.set_observed_time_unix_nano(from.time);
    if (std::find(std::begin(no_names), std::end(no_names), name) == std::end(no_names))
        assign_utf8(*to.mutable_event_name(), name);
    if (const auto severity = severity_of_level(event.level))
        to.set_severity_number(severity->number);
    return promote(to);
}

filled fill_as_described(message::LogRecord& to, const recording::record& from) {
    const eventheader::shown_event shown = to_shown_event(from);
    attributes all(*to.mutable_attributes());
    add_described(all, shown);
    filled result;
    if (may_have_schema(to.attributes())) {
        all.remove_rest();
        result.kind = schema_of(to.attributes());
        if (result.kind == schema::log)
            result.own = fill_log_of_schema(to, from, shown.event);
        if (result.kind != schema::none)
            return result;
    }
    add_header(all, shown);
    all.remove_rest();
    std::string name;
    append_name(name, shown);
    assign_utf8(*to.mutable_event_name(), name);
    if (const auto severity = severity_of_level(shown.event.level)) {
        set_severity(to, *severity);
        set_body(to);
    }
    return result;
}

} // namespace

filled fill(message::LogRecord& to, const recording::record& from, std::uint64_t observed) {
    clear(to);
    to.set_time_unix_nano(from.time);
    to.set_observed_time_unix_nano(std::max(from.time, observed));
    if (from.event->is_described)
        return fill_as_described(to, from);
    assign_utf8(*to.mutable_event_name(), from.event->registered_name());
    if (const auto severity = severity_of(from)) {
        set_severity(to, *severity);
        if (const auto* const body = text_field(*from.event))
            set(*to.mutable_body(), *body, read(*body, from.data));
    }
    attributes(*to.mutable_attributes()).add_fields(from, none);
    return {};
}

} // namespace tool::otlp
