// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/attributes.hpp"

#include "text/escape.hpp"

#include <limits>

namespace tool::otlp {

using recording::kind;

namespace {

constexpr std::string_view thread_id = "thread.id";
constexpr std::string_view thread_name = "thread.name";
constexpr std::string_view cpu = "cpu.logical_number";
constexpr std::string_view sample = "user_events.sample";

} // namespace

bool is_of_origin(std::string_view name) {
    return name == thread_id || name == thread_name || name == cpu || name == sample;
}

void set_natural(message::AnyValue& to, std::uint64_t number) {
    if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        to.set_int_value(static_cast<std::int64_t>(number));
    else
        to.set_string_value(std::to_string(number));
}

void assign_utf8(std::string& to, std::string_view text) {
    to.clear();
    text::append_utf8(to, text);
}

void set(message::AnyValue& to, const recording::field& field, const recording::value& value) {
    switch (value.kind) {
    case kind::absent:
        break;
    case kind::integer:
        to.set_int_value(value.integer);
        break;
    case kind::natural:
        set_natural(to, value.natural);
        break;
    case kind::real:
        to.set_double_value(value.real);
        break;
    case kind::text:
        assign_utf8(*to.mutable_string_value(), value.text());
        break;
    case kind::bytes:
        to.set_bytes_value(value.data.data(), value.data.size());
        break;
    case kind::integers: {
        auto& array = *to.mutable_array_value();
        array.clear_values();
        for_each_integer(field, value, [&](std::uint64_t number) {
            if (field.is_signed)
                array.add_values()->set_int_value(static_cast<std::int64_t>(number));
            else
                set_natural(*array.add_values(), number);
        });
        break;
    }
    }
}

attributes::~attributes() {
    remove_rest();
}

void attributes::remove_rest() {
    while (to_.size() > count_)
        to_.RemoveLast();
}

message::AnyValue& attributes::next(std::string_view key) {
    message::KeyValue& result = count_ < to_.size() ? *to_.Mutable(count_) : *to_.Add();
    count_++;
    if (result.key() != key)
        assign_utf8(*result.mutable_key(), key);
    return *result.mutable_value();
}

void attributes::add(std::string_view key, std::string_view text) {
    assign_utf8(*next(key).mutable_string_value(), text);
}

void attributes::add(std::string_view key, std::int64_t number) {
    next(key).set_int_value(number);
}

void attributes::add_field(const recording::field& field, const recording::value& value) {
    if (value.kind != kind::absent)
        set(is_of_origin(field.name) ? next("field." + field.name) : next(field.name), field,
            value);
}

void attributes::add_origin(const recording::record& from) {
    add(thread_id, static_cast<std::int64_t>(from.pid - from.distance));
    add(thread_name, from.task);
    add(cpu, static_cast<std::int64_t>(from.cpu));
    if (from.event->sample > 1)
        add(sample, static_cast<std::int64_t>(from.event->sample));
}

} // namespace tool::otlp
