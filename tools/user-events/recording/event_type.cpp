// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/event_type.hpp"

#include "text/escape.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <event-parse.h>
#include <fmt/format.h>
#include <iterator>

namespace tool::recording {

namespace {

/// Also in kernel/format/format.c and the library's number.hpp.
constexpr number_type number_types[] = {
    {"s64", kind::integer, 8},     {"u64", kind::natural, 8},
    {"s32", kind::integer, 4},     {"int", kind::integer, 4},
    {"u32", kind::natural, 4},     {"unsigned int", kind::natural, 4},
    {"s16", kind::integer, 2},     {"short", kind::integer, 2},
    {"u16", kind::natural, 2},     {"unsigned short", kind::natural, 2},
    {"s8", kind::integer, 1},      {"char", kind::integer, 1},
    {"u8", kind::natural, 1},      {"unsigned char", kind::natural, 1},
    {"struct f64", kind::real, 8}, {"struct f32", kind::real, 4},
};

bool is_number_size(std::uint32_t size) {
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/// Removes the words in front of the type itself.
std::string_view bare_type(std::string_view type) {
    for (const std::string_view prefix : {"__data_loc ", "__rel_loc ", "const "})
        if (type.starts_with(prefix))
            type.remove_prefix(prefix.size());
    return type;
}

bool has_name(std::string_view type, std::string_view name) {
    return type.starts_with(name) &&
           (type.size() == name.size() || type[name.size()] == '[' || type[name.size()] == ' ');
}

kind kind_of(const tep_format_field& from, std::string_view type, std::uint32_t size,
             std::uint32_t element_size) {
    const bool is_array = from.flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC);
    const bool is_pointer = from.flags & TEP_FIELD_IS_POINTER;
    if (has_name(type, "char") && !is_pointer && is_array)
        return kind::text;
    if (is_array)
        return type.starts_with("struct ") || element_size == 1 || !is_number_size(element_size)
                   ? kind::bytes
                   : kind::integers;
    const number_type* const known = is_pointer ? nullptr : find_number_type(type);
    if (known && known->kind == kind::real && known->size == size)
        return kind::real;
    if ((type.starts_with("struct ") && !is_pointer) || !is_number_size(size))
        return kind::bytes;
    return from.flags & TEP_FIELD_IS_SIGNED ? kind::integer : kind::natural;
}

field field_of(const tep_format_field& from, bool is_big_endian) {
    const auto natural = [](auto number) {
        return static_cast<std::uint32_t>(number < 0 ? 0 : number);
    };
    const std::uint32_t size = natural(from.size);
    const place place = !(from.flags & TEP_FIELD_IS_DYNAMIC)   ? place::field
                        : (from.flags & TEP_FIELD_IS_RELATIVE) ? place::from_field
                                                               : place::from_record;
    return {
        .name = from.name,
        .type = from.type,
        .kind = kind_of(from, bare_type(from.type), size, from.elementsize),
        .place = place,
        .is_signed = (from.flags & TEP_FIELD_IS_SIGNED) != 0,
        .is_big_endian = is_big_endian,
        .offset = natural(from.offset),
        .size = size,
        .element_size = from.elementsize,
    };
}

/// The part of the record, or nothing if it is not all there.
bytes part(bytes record, std::uint64_t offset, std::uint64_t size, bool& is_there) {
    is_there = offset <= record.size() && size <= record.size() - offset;
    return is_there
               ? record.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size))
               : bytes();
}

double real(std::uint64_t bits, std::uint32_t size) {
    return size == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                     : std::bit_cast<double>(bits);
}

void append_integers(std::string& to, const field& field, const value& value, char open,
                     char close) {
    to += open;
    const std::size_t first = to.size();
    for_each_integer(field, value, [&](std::uint64_t number) {
        if (to.size() > first)
            to += ',';
        if (field.is_signed)
            text::append_json(to, static_cast<std::int64_t>(number));
        else
            text::append_json(to, number);
    });
    to += close;
}

/// The four fields of each tracepoint of .NET.
bool has_fields_of_eventpipe(const event_type& type) {
    constexpr std::string_view names[] = {"version", "event_id", "extension", "payload"};
    constexpr std::uint32_t sizes[] = {1, 2, 4, 4};
    if (type.fields.size() != std::size(names) || !is_registered_system(type.system))
        return false;
    for (std::size_t i = 0; i < std::size(names); i++) {
        const field& field = type.fields[i];
        const bool is_blob = i >= 2;
        if (field.name != names[i] || field.size != sizes[i] ||
            (field.place == place::from_field) != is_blob ||
            field.kind != (is_blob ? kind::bytes : kind::natural))
            return false;
    }
    return true;
}

} // namespace

event_type::event_type(const tep_event& event)
    : id(event.id), system(event.system ? event.system : ""), name(event.name ? event.name : "") {
    const bool is_big_endian = tep_is_file_bigendian(event.tep);
    for (const tep_format_field* from = event.format.fields; from; from = from->next)
        if (from->name && from->type)
            fields.push_back(field_of(*from, is_big_endian));
    is_eventpipe = has_fields_of_eventpipe(*this);
    is_described = is_eventpipe || (!fields.empty() && fields.front().name == "eventheader_flags");
}

std::unique_ptr<event_type> event_type::copy(int id) const {
    auto result = std::make_unique<event_type>(id, system, name);
    result->fields = fields;
    result->sample = sample;
    result->has_stack = has_stack;
    result->is_described = is_described;
    result->is_eventpipe = is_eventpipe;
    result->chosen = chosen;
    return result;
}

const number_type* find_number_type(std::string_view name) noexcept {
    const auto* const found =
        std::find_if(std::begin(number_types), std::end(number_types),
                     [name](const number_type& type) { return type.name == name; });
    return found == std::end(number_types) ? nullptr : found;
}

bool is_user_system(std::string_view system) noexcept {
    return is_registered_system(system) || system == mark_system;
}

bool is_registered_system(std::string_view system) noexcept {
    return system == one_format_system || system.starts_with(group_system_prefix);
}

bool is_system_of(std::string_view system, std::string_view group) noexcept {
    if (group == "default")
        return system == one_format_system || system == multi_format_system;
    return system.starts_with(group_system_prefix) &&
           (system.substr(group_system_prefix.size()) == group ||
            system.substr(group_system_prefix.size()) == std::string(group) + "_multi");
}

std::string_view registered_name(std::string_view system, std::string_view event) noexcept {
    return is_registered_system(system) && system.ends_with("_multi")
               ? event.substr(0, event.rfind('.'))
               : event;
}

const field* event_type::find(std::string_view field_name) const noexcept {
    for (const field& field : fields)
        if (field.name == field_name)
            return &field;
    return nullptr;
}

double value::number() const noexcept {
    switch (kind) {
    case kind::integer:
        return static_cast<double>(integer);
    case kind::natural:
        return static_cast<double>(natural);
    case kind::real:
        return real;
    case kind::absent:
    case kind::text:
    case kind::bytes:
    case kind::integers:
        break;
    }
    return 0;
}

/// A text, and behind it its length, as append_at_end() puts them.
static value read_at_end(bytes record) noexcept {
    value result;
    std::uint32_t size = 0;
    if (record.size() < sizeof(size))
        return result;
    const bytes before = record.first(record.size() - sizeof(size));
    std::memcpy(&size, record.data() + before.size(), sizeof(size));
    if (size > before.size())
        return result;
    result.kind = kind::text;
    result.data = before.last(size);
    return result;
}

void append_at_end(std::vector<std::byte>& record, std::string_view text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    const auto* const from = reinterpret_cast<const std::byte*>(text.data());
    record.insert(record.end(), from, from + size);
    const auto* const number = reinterpret_cast<const std::byte*>(&size);
    record.insert(record.end(), number, number + sizeof(size));
}

value read(const field& field, bytes record) noexcept {
    value result;
    if (field.place == place::at_end)
        return read_at_end(record);
    bool is_there = false;
    bytes data = part(record, field.offset, field.size, is_there);
    // An array without a size is the rest of the record.
    const bool is_rest = field.size == 0 && field.type.ends_with("[]");
    if (is_rest && is_there)
        data = record.subspan(field.offset);
    if (!is_there)
        return result;
    if (field.place != place::field) {
        if (data.size() < 4)
            return result;
        const auto location = read_number(data.data(), 4, false, field.is_big_endian);
        const std::uint64_t start =
            (location & 0xffff) + (field.place == place::from_field ? field.offset + 4 : 0);
        data = part(record, start, location >> 16, is_there);
        if (!is_there)
            return result;
    }
    result.kind = field.kind;
    switch (field.kind) {
    case kind::integer:
    case kind::natural:
        result.natural = read_number(data.data(), field.size, field.is_signed, field.is_big_endian);
        break;
    case kind::real:
        result.real =
            real(read_number(data.data(), field.size, false, field.is_big_endian), field.size);
        break;
    case kind::text: {
        const auto* const text = reinterpret_cast<const char*>(data.data());
        result.data = data.first(strnlen(text, data.size()));
        // The kernel ends the line of a marker.
        if (is_rest && result.text().ends_with('\n'))
            result.data = result.data.first(result.data.size() - 1);
        break;
    }
    case kind::bytes:
    case kind::integers:
        result.data = data;
        break;
    case kind::absent:
        break;
    }
    return result;
}

void append_text(std::string& to, const field& field, const value& value) {
    switch (value.kind) {
    case kind::absent:
        to += "(cut off)";
        break;
    case kind::text:
        text::append_escaped(to, value.text());
        break;
    case kind::bytes:
        text::append_hexadecimal(to, value.data);
        break;
    case kind::integers:
        append_integers(to, field, value, '{', '}');
        break;
    case kind::real:
        fmt::format_to(std::back_inserter(to), "{}", value.real);
        break;
    case kind::integer:
    case kind::natural:
        append_json(to, field, value);
        break;
    }
}

void append_json(std::string& to, const field& field, const value& value) {
    switch (value.kind) {
    case kind::absent:
        to += "null";
        break;
    case kind::integer:
        text::append_json(to, value.integer);
        break;
    case kind::natural:
        text::append_json(to, value.natural);
        break;
    case kind::real:
        text::append_json(to, value.real);
        break;
    case kind::text:
        text::append_json(to, value.text());
        break;
    case kind::bytes:
        to += '"';
        text::append_hexadecimal(to, value.data);
        to += '"';
        break;
    case kind::integers:
        append_integers(to, field, value, '[', ']');
        break;
    }
}

} // namespace tool::recording
