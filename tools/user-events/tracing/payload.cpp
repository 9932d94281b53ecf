// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/payload.hpp"

#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "tracing/events.hpp"
#include "tracing/rule.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <event-parse.h>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace tool::tracing {

using recording::field;
using recording::kind;
using recording::place;

namespace {

constexpr std::size_t most_located = 65535;
/// What tracing puts before a payload.
constexpr std::size_t record_header = 8;

/// `type name`, or `struct TAG name SIZE`.
field to_field(std::string_view text) {
    const auto fail = [&] {
        throw text::usage_error(fmt::format("\"{}\" is no field", text),
                                "write TYPE NAME, such as 'u32 number' or '__rel_loc char[] item'");
    };
    std::string_view rest = text;
    std::uint32_t size = 0;
    if (rest.starts_with("struct ")) {
        const auto space = rest.find_last_of(" \t");
        const auto number = text::to_number<std::uint32_t>(rest.substr(space + 1));
        if (!number)
            fail();
        size = *number;
        rest = trimmed(rest.substr(0, space));
    }
    const auto space = rest.find_last_of(" \t");
    if (space == rest.npos)
        fail();
    field made{.name = std::string(rest.substr(space + 1)),
               .type = std::string(trimmed(rest.substr(0, space))),
               .kind = kind::bytes,
               .place = place::field,
               .is_signed = false,
               .is_big_endian = std::endian::native == std::endian::big,
               .offset = 0,
               .size = size,
               .element_size = 1};
    const std::string& type = made.type;
    const auto* const number = recording::find_number_type(type);
    if (type.starts_with("__rel_loc ") || type.starts_with("__data_loc ")) {
        made.place = type.starts_with("__rel") ? place::from_field : place::from_record;
        made.kind = type.find("char") != type.npos ? kind::text : kind::bytes;
        made.size = 4;
    } else if (number && (!size || size == number->size)) {
        made.kind = number->kind;
        made.size = number->size;
        made.is_signed = number->kind == kind::integer;
    } else if (const auto bracket = type.find('['); !size && bracket != type.npos) {
        made.size = static_cast<std::uint32_t>(std::min<std::size_t>(
            std::strtoul(type.c_str() + bracket + 1, nullptr, 0), most_located + 1));
        made.kind = type.starts_with("unsigned") ? kind::bytes : kind::text;
    } else if (!size) {
        fail();
    }
    if (made.size > most_located)
        fail();
    return made;
}

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto* const from = reinterpret_cast<const std::byte*>(text.data());
    return {from, from + text.size()};
}

[[noreturn]] void bad_value(const field& field, std::string_view value, std::string_view wanted) {
    throw text::usage_error(fmt::format("{}={}: the field is {}", field.name, value, field.type),
                            fmt::format("give it {}", wanted));
}

template <typename Number>
std::optional<Number> to_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    int base = 10;
    std::string digits(text);
    if (const auto at = static_cast<std::size_t>(negative);
        text.substr(at).starts_with("0x") || text.substr(at).starts_with("0X")) {
        digits.erase(at, 2);
        base = 16;
    }
    return text::to_number<Number>(digits, base);
}

std::vector<std::byte> number_bytes(const field& field, std::string_view value) {
    const unsigned bits = static_cast<unsigned>(field.size * 8);
    std::uint64_t result = 0;
    if (field.is_signed) {
        const auto number = to_number<std::int64_t>(value);
        const std::int64_t most = INT64_MAX >> (64 - bits);
        if (!number || *number > most || *number < -most - 1)
            bad_value(field, value, fmt::format("a number from {} to {}", -most - 1, most));
        result = static_cast<std::uint64_t>(*number);
    } else {
        const auto number = to_number<std::uint64_t>(value);
        const std::uint64_t most = UINT64_MAX >> (64 - bits);
        if (!number || *number > most)
            bad_value(field, value, fmt::format("a number from 0 to {}", most));
        result = *number;
    }
    std::vector<std::byte> bytes(field.size);
    recording::write_number(bytes, result, field.is_big_endian);
    return bytes;
}

std::vector<std::byte> real_bytes(const field& field, std::string_view value) {
    const auto number = text::to_number<double>(value);
    if (!number)
        bad_value(field, value, "a number");
    std::vector<std::byte> bytes(field.size);
    recording::write_number(bytes,
                            field.size == 4
                                ? std::bit_cast<std::uint32_t>(static_cast<float>(*number))
                                : std::bit_cast<std::uint64_t>(*number),
                            field.is_big_endian);
    return bytes;
}

std::vector<std::byte> raw_bytes(const field& field, std::string_view value) {
    const auto bytes = text::from_hexadecimal(value);
    if (!bytes)
        bad_value(field, value, "bytes as pairs of hexadecimal digits");
    return bytes_of(*bytes);
}

/// The bytes of a field, or those that its location points to.
std::vector<std::byte> value_bytes(const field& field, std::string_view value) {
    std::vector<std::byte> bytes;
    switch (field.kind) {
    case kind::integer:
    case kind::natural:
        return number_bytes(field, value);
    case kind::real:
        return real_bytes(field, value);
    case kind::text:
        bytes = bytes_of(value);
        if (field.place != place::field)
            bytes.push_back(std::byte(0));
        break;
    case kind::bytes:
        bytes = raw_bytes(field, value);
        break;
    case kind::integers: // no type of a command
    case kind::absent:
        break;
    }
    const std::size_t most = field.place == place::field ? field.size : most_located;
    if (bytes.size() > most)
        bad_value(field, value, fmt::format("no more than {} bytes", most));
    if (field.place == place::field)
        bytes.resize(field.size);
    return bytes;
}

} // namespace

event_command::event_command(std::string text) : text_(std::move(text)) {
    std::string_view rest = trimmed(text_);
    rest.remove_prefix(std::min(rest.find_first_of(" \t"), rest.size()));
    while (!rest.empty()) {
        const auto end = std::min(rest.find(';'), rest.size());
        if (const auto part = trimmed(rest.substr(0, end)); !part.empty())
            fields_.push_back(to_field(part));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

event_command event_command::of(const tep_event& event) {
    std::string text = event.name;
    for (const auto* field = event.format.fields; field; field = field->next) {
        const std::string type = type_text(*field);
        text += fmt::format("{} {} {}", field == event.format.fields ? "" : ";", type, field->name);
        if (type.starts_with("struct "))
            text += fmt::format(" {}", field->size);
    }
    return event_command(text);
}

std::vector<std::byte> event_command::payload(const std::vector<std::string>& values) const {
    std::map<std::string_view, std::string_view> given;
    for (const std::string_view value : values) {
        const auto equals = value.find('=');
        if (equals == value.npos)
            throw text::usage_error(fmt::format("\"{}\" is no value", value), "write FIELD=VALUE");
        const auto name = value.substr(0, equals);
        if (std::none_of(fields_.begin(), fields_.end(),
                         [&](const field& field) { return field.name == name; }))
            throw text::usage_error(fmt::format("the event has no field {}", name),
                                    fmt::format("it is \"{}\"", text_));
        if (!given.emplace(name, value.substr(equals + 1)).second)
            throw text::usage_error(fmt::format("{} is given twice", name));
    }
    std::size_t size = 0;
    for (const auto& field : fields_)
        size += field.size;
    std::vector<std::byte> result, located;
    for (const auto& field : fields_) {
        const auto found = given.find(field.name);
        if (found == given.end())
            throw text::usage_error(fmt::format("{}=VALUE is missing", field.name),
                                    fmt::format("the event is \"{}\"", text_));
        std::vector<std::byte> bytes = value_bytes(field, found->second);
        if (field.place != place::field) {
            const std::size_t at = size + located.size();
            const std::size_t offset = field.place == place::from_record
                                           ? at + record_header
                                           : at - (result.size() + field.size);
            if (offset > most_located)
                bad_value(field, found->second, "less text: the record is too long");
            const std::uint64_t location = bytes.size() << 16 | offset;
            located.insert(located.end(), bytes.begin(), bytes.end());
            bytes.resize(field.size);
            recording::write_number(bytes, location, field.is_big_endian);
        }
        result.insert(result.end(), bytes.begin(), bytes.end());
    }
    result.insert(result.end(), located.begin(), located.end());
    return result;
}

} // namespace tool::tracing
