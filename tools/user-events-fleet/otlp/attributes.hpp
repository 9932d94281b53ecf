// SPDX-License-Identifier: GPL-2.0-or-later
// Values of fields as values of OTLP.
#pragma once

#include "recording/record.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <otlp/opentelemetry.pb.h>

namespace tool::otlp {

namespace message = ::user_events::otlp;
/// The instrumentation scope of all that ship sends.
constexpr char scope_name[] = "user-events";
using attribute_list = google::protobuf::RepeatedPtrField<message::KeyValue>;

/// Protobuf takes UTF-8 only. What is not UTF-8 becomes U+FFFD.
void assign_utf8(std::string& to, std::string_view text);

/// Numbers stay numbers; those of 2^63 and more, which OTLP lacks, become decimal text. Bytes stay
/// bytes.
void set(message::AnyValue& to, const recording::field& field, const recording::value& value);
void set_natural(message::AnyValue& to, std::uint64_t number);

/// Whether add_origin() has an attribute of this name. A field of the name gets the prefix
/// "field.".
bool is_of_origin(std::string_view name);

/// Fills a list of attributes. Attributes that the list has are overwritten, so that their memory
/// is used again, and most keys need not be written. The destructor removes the rest of them.
class attributes {
public:
    /// Keeps the first `first` attributes.
    explicit attributes(attribute_list& to, int first = 0) noexcept : to_(to), count_(first) {}
    attributes(const attributes&) = delete;
    attributes& operator=(const attributes&) = delete;
    ~attributes();

    void add(std::string_view key, std::string_view text);
    void add(std::string_view key, std::int64_t number);

    /// Removes the attributes that were not overwritten.
    void remove_rest();

    /// Adds an attribute. The value may still be that of an earlier attribute: set it.
    message::AnyValue& next(std::string_view key);

    /// Adds the fields under their names. `leave_out` says which fields are not wanted.
    template <typename Predicate>
    void add_fields(const recording::record& from, Predicate leave_out) {
        for (const recording::field& field : from.event->fields)
            if (!leave_out(field))
                add_field(field, read(field, from.data));
    }

    /// Adds the thread and the CPU and, if a rule with `sample=1/N` made the record, N.
    void add_origin(const recording::record& from);

private:
    void add_field(const recording::field& field, const recording::value& value);

    attribute_list& to_;
    int count_;
};

} // namespace tool::otlp
