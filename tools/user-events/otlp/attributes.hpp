// SPDX-License-Identifier: GPL-2.0-only
// Values of fields as values of OTLP.
#pragma once

#include "recording/record.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <otlp/opentelemetry.pb.h>

namespace tool::otlp {

namespace message = ::user_events::otlp;
using attribute_list = google::protobuf::RepeatedPtrField<message::KeyValue>;

/// Protobuf takes UTF-8 only. What is not UTF-8 becomes U+FFFD.
void assign_utf8(std::string& to, std::string_view text);

/// Numbers stay numbers; those above 2^63, which OTLP lacks, become decimal text. Bytes stay bytes.
void set(message::AnyValue& to, const recording::field& field, const recording::value& value);

void add(attribute_list& to, std::string_view key, std::string_view text);
void add(attribute_list& to, std::string_view key, std::int64_t number);

/// Adds the fields under their names. A field whose name is also one of add_origin()'s gets the
/// prefix "field.". `leave_out` says which fields are not wanted.
template <typename Predicate>
void add_fields(attribute_list& to, const recording::record& from, Predicate leave_out);

/// Adds the thread and the CPU.
void add_origin(attribute_list& to, const recording::record& from);

void set_key(message::KeyValue& of, const recording::field& field);

template <typename Predicate>
void add_fields(attribute_list& to, const recording::record& from, Predicate leave_out) {
    for (const recording::field& field : from.event->fields) {
        if (leave_out(field))
            continue;
        const recording::value value = read(field, from.data);
        if (value.kind == recording::kind::absent)
            continue;
        message::KeyValue& added = *to.Add();
        set_key(added, field);
        set(*added.mutable_value(), field, value);
    }
}

} // namespace tool::otlp
