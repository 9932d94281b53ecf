// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/payload.hpp"

#include "text/errors.hpp"
#include "tracing/events.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <event-parse.h>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace tool::tracing {

namespace {

constexpr std::size_t most_located = 65535;
/// What tracing puts before a payload.
constexpr std::size_t record_header = 8;

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\n");
    if (begin == text.npos)
        return {};
    return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

struct number_type {
    std::size_t size;
    bool is_signed;
};

std::optional<number_type> to_number_type(std::string_view name) {
    static const std::map<std::string_view, number_type> types = {
        {"s64", {8, true}},  {"u64", {8, false}},
        {"s32", {4, true}},  {"int", {4, true}},
        {"u32", {4, false}}, {"unsigned int", {4, false}},
        {"s16", {2, true}},  {"short", {2, true}},
        {"u16", {2, false}}, {"unsigned short", {2, false}},
        {"s8", {1, true}},   {"char", {1, true}},
        {"u8", {1, false}},  {"unsigned char", {1, false}}};
    const auto found = types.find(name);
    if (found == types.end())
        return {};
    return found->second;
}

/// `type name`, or `struct TAG name SIZE`.
command_field to_field(std::string_view text) {
    const auto fail = [&] {
        throw text::usage_error(fmt::format("\"{}\" is no field", text),
                                "write TYPE NAME, such as 'u32 number' or '__rel_loc char[] item'");
    };
    std::string_view rest = text;
    std::size_t size = 0;
    if (rest.starts_with("struct ")) {
        const auto space = rest.find_last_of(" \t");
        const std::string_view digits = rest.substr(space + 1);
        if (std::from_chars(digits.data(), digits.data() + digits.size(), size).ptr !=
            digits.data() + digits.size())
            fail();
        rest = trimmed(rest.substr(0, space));
    }
    const auto space = rest.find_last_of(" \t");
    if (space == rest.npos)
        fail();
    command_field field{std::string(trimmed(rest.substr(0, space))),
                        std::string(rest.substr(space + 1)),
                        size,
                        command_field::bytes,
                        command_field::inside,
                        false};
    const std::string& type = field.type;
    if (type.starts_with("__rel_loc ") || type.starts_with("__data_loc ")) {
        field.place =
            type.starts_with("__rel") ? command_field::after_field : command_field::after_start;
        field.kind = type.find("char") != type.npos ? command_field::text : command_field::bytes;
        field.size = 4;
    } else if (const auto number = to_number_type(type)) {
        field.kind = command_field::number;
        field.size = number->size;
        field.is_signed = number->is_signed;
    } else if (size) {
        if ((type == "struct f64" && size == 8) || (type == "struct f32" && size == 4))
            field.kind = command_field::real;
    } else if (const auto bracket = type.find('['); bracket != type.npos) {
        field.size = std::strtoull(type.c_str() + bracket + 1, nullptr, 0);
        field.kind = type.starts_with("unsigned") ? command_field::bytes : command_field::text;
    } else {
        fail();
    }
    return field;
}

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto* const from = reinterpret_cast<const std::byte*>(text.data());
    return {from, from + text.size()};
}

[[noreturn]] void bad_value(const command_field& field, std::string_view value,
                            std::string_view wanted) {
    throw text::usage_error(fmt::format("{}={}: the field is {}", field.name, value, field.type),
                            fmt::format("give it {}", wanted));
}

template <typename Number>
bool to_number(std::string_view text, Number& number) {
    const bool negative = text.starts_with('-');
    int base = 10;
    std::string digits(text);
    if (const auto at = static_cast<std::size_t>(negative);
        text.substr(at).starts_with("0x") || text.substr(at).starts_with("0X")) {
        digits.erase(at, 2);
        base = 16;
    }
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
    return error == std::errc() && end == digits.data() + digits.size();
}

std::vector<std::byte> number_bytes(const command_field& field, std::string_view value) {
    const unsigned bits = static_cast<unsigned>(field.size * 8);
    std::uint64_t result = 0;
    if (field.is_signed) {
        std::int64_t number = 0;
        const std::int64_t most = INT64_MAX >> (64 - bits);
        if (!to_number(value, number) || number > most || number < -most - 1)
            bad_value(field, value, fmt::format("a number from {} to {}", -most - 1, most));
        result = static_cast<std::uint64_t>(number);
    } else {
        const std::uint64_t most = UINT64_MAX >> (64 - bits);
        if (!to_number(value, result) || result > most)
            bad_value(field, value, fmt::format("a number from 0 to {}", most));
    }
    std::vector<std::byte> bytes(8);
    std::memcpy(bytes.data(), &result, 8);
    bytes.resize(field.size); // little-endian
    return bytes;
}

std::vector<std::byte> real_bytes(const command_field& field, std::string_view value) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size())
        bad_value(field, value, "a number");
    std::vector<std::byte> bytes(field.size);
    const auto single = static_cast<float>(number);
    std::memcpy(bytes.data(), field.size == 4 ? static_cast<const void*>(&single) : &number,
                field.size);
    return bytes;
}

/// Pairs of hexadecimal digits.
std::vector<std::byte> raw_bytes(const command_field& field, std::string_view value) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < value.size(); i += 2) {
        unsigned byte = 0;
        const char* const at = value.data() + i;
        if (i + 2 > value.size() || std::from_chars(at, at + 2, byte, 16).ptr != at + 2)
            bad_value(field, value, "bytes as pairs of hexadecimal digits");
        bytes.push_back(static_cast<std::byte>(byte));
    }
    return bytes;
}

/// The bytes of a field, or those that its location points to.
std::vector<std::byte> value_bytes(const command_field& field, std::string_view value) {
    std::vector<std::byte> bytes;
    switch (field.kind) {
    case command_field::number:
        return number_bytes(field, value);
    case command_field::real:
        return real_bytes(field, value);
    case command_field::text:
        bytes = bytes_of(value);
        if (field.place != command_field::inside)
            bytes.push_back(std::byte(0));
        break;
    case command_field::bytes:
        bytes = raw_bytes(field, value);
        break;
    }
    const std::size_t most = field.place == command_field::inside ? field.size : most_located;
    if (bytes.size() > most)
        bad_value(field, value, fmt::format("no more than {} bytes", most));
    if (field.place == command_field::inside)
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
                         [&](const command_field& field) { return field.name == name; }))
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
        if (field.place != command_field::inside) {
            const std::size_t at = size + located.size();
            const std::size_t offset = field.place == command_field::after_start
                                           ? at + record_header
                                           : at - (result.size() + field.size);
            if (offset > most_located)
                bad_value(field, found->second, "less text: the record is too long");
            const auto location = static_cast<std::uint32_t>(bytes.size() << 16 | offset);
            located.insert(located.end(), bytes.begin(), bytes.end());
            bytes.resize(sizeof(location));
            std::memcpy(bytes.data(), &location, sizeof(location));
        }
        result.insert(result.end(), bytes.begin(), bytes.end());
    }
    result.insert(result.end(), located.begin(), located.end());
    return result;
}

} // namespace tool::tracing
