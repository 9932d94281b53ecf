// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventpipe/metadata.hpp"

#include "eventheader/characters.hpp"

#include <limits>
#include <string_view>

namespace tool::eventpipe {

namespace {

using eventheader::array;
using eventheader::cursor;
using eventheader::encoding;
using eventheader::field;
using eventheader::meaning;
using eventheader::shape;

constexpr std::uint32_t type_object = 1;
constexpr std::uint32_t type_array = 19;
constexpr std::uint8_t tag_opcode = 1;
constexpr std::uint8_t tag_fields = 2; // that may be arrays
constexpr std::size_t most_of_struct = 255;

constexpr encoding unknown = {shape::unknown, 0, meaning::none, false};
constexpr encoding structure = {shape::structure, 0, meaning::none, false};

struct type {
    std::uint32_t code;
    eventheader::encoding encoding;
};

constexpr type types[] = {
    {3, {shape::fixed, 4, meaning::truth, false}},
    {4, {shape::fixed, 2, meaning::utf, false}},
    {5, {shape::fixed, 1, meaning::integer, false}},
    {6, {shape::fixed, 1, meaning::natural, false}},
    {7, {shape::fixed, 2, meaning::integer, false}},
    {8, {shape::fixed, 2, meaning::natural, false}},
    {9, {shape::fixed, 4, meaning::integer, false}},
    {10, {shape::fixed, 4, meaning::natural, false}},
    {11, {shape::fixed, 8, meaning::integer, false}},
    {12, {shape::fixed, 8, meaning::natural, false}},
    {13, {shape::fixed, 4, meaning::real, false}},
    {14, {shape::fixed, 8, meaning::real, false}},
    {16, {shape::date, 1, meaning::date, false}},
    {17, {shape::fixed, 16, meaning::guid, false}},
    {18, {shape::terminated, 2, meaning::utf, false}},
};

const encoding& encoding_of(std::uint32_t code) {
    for (const type& each : types)
        if (each.code == code)
            return each.encoding;
    return unknown;
}

template <typename Number>
bool take(cursor& from, Number& to) {
    bytes data;
    if (!from.take(sizeof to, data))
        return false;
    to = static_cast<Number>(eventheader::to_number(data, false));
    return true;
}

/// Text in UTF-16 with a NUL.
bool take_text(cursor& from, std::string& to) {
    bytes data;
    if (!from.take_terminated(2, data))
        return false;
    append_text(to, eventheader::value{meaning::utf, data, 2, false});
    return true;
}

/// Descriptions of fields in one of the two layouts: `TYPE NAME`, and `SIZE NAME TYPE`, which has
/// arrays.
class field_reader {
public:
    field_reader(description& to, bool has_arrays) : to_(to), has_arrays_(has_arrays) {}

    /// Takes the number of fields, and the fields. `depth` is the number of structs they are in.
    bool take_all(cursor& from, unsigned depth, std::uint32_t& count) {
        if (!take(from, count) || (depth > 0 && count > most_of_struct))
            return false;
        for (std::uint32_t i = 0; i < count; i++)
            if (!(has_arrays_ ? take_sized(from, depth) : take_plain(from, depth)))
                return false;
        return true;
    }

private:
    bool take_plain(cursor& from, unsigned depth) {
        std::uint32_t code = 0;
        const std::size_t place = to_.fields.size();
        if (!take(from, code) || !add(array::none) || !take_type(from, code, depth, place))
            return false;
        std::string name;
        return take_text(from, name) && set_name(place, std::move(name));
    }

    bool take_sized(cursor& from, unsigned depth) {
        std::uint32_t size = 0, code = 0;
        bytes data;
        if (!take(from, size) || size < sizeof size || !from.take(size - sizeof size, data))
            return false;
        cursor in(data, false);
        std::string name;
        if (!take_text(in, name) || !take(in, code))
            return false;
        const bool is_array = code == type_array;
        if (is_array && !take(in, code))
            return false;
        const std::size_t place = to_.fields.size();
        return add(is_array ? array::variable : array::none) && set_name(place, std::move(name)) &&
               take_type(in, code, depth, place);
    }

    bool add(eventheader::array array) {
        if (to_.fields.size() == most_fields)
            return false;
        to_.fields.push_back({.array = array});
        return true;
    }

    bool set_name(std::size_t place, std::string name) {
        to_.names.push_back(std::move(name));
        to_.fields[place].name =
            std::string_view(to_.names.back()).substr(0, eventheader::longest_name);
        return true;
    }

    bool take_type(cursor& from, std::uint32_t code, unsigned depth, std::size_t place) {
        if (code != type_object) {
            to_.fields[place].encoding = encoding_of(code);
            return true;
        }
        std::uint32_t count = 0;
        to_.fields[place].encoding = structure;
        if (depth == eventheader::most_nested || !take_all(from, depth + 1, count))
            return false;
        to_.fields[place].format = static_cast<std::uint8_t>(count);
        return true;
    }

    description& to_;
    bool has_arrays_;
};

bool take_header(cursor& from, description& to) {
    std::uint32_t number = 0, id = 0, version = 0, level = 0;
    std::string name;
    const bool is_complete = take(from, number) && take_text(from, to.provider) && take(from, id) &&
                             take_text(from, name) && take(from, to.keyword) &&
                             take(from, version) && take(from, level);
    if (!is_complete)
        return false;
    // The runtime has the lower bits in the record.
    to.id = static_cast<std::uint16_t>(id);
    to.version = static_cast<std::uint8_t>(version);
    to.level = static_cast<std::uint8_t>(level);
    for (const char c : name)
        to.name.append(c == ';' ? 2 : 1, c);
    return version <= std::numeric_limits<std::uint8_t>::max() &&
           level <= std::numeric_limits<std::uint8_t>::max();
}

/// Tags that are not known are skipped.
bool take_tag(cursor& from, description& to) {
    std::uint32_t size = 0;
    std::uint8_t kind = 0;
    bytes data;
    if (!take(from, size) || !take(from, kind) || !from.take(size, data))
        return false;
    cursor in(data, false);
    if (kind == tag_opcode)
        return take(in, to.opcode);
    std::uint32_t count = 0;
    if (kind == tag_fields)
        return to.fields.empty() && field_reader(to, true).take_all(in, 0, count);
    return true;
}

} // namespace

std::optional<description> to_description(bytes metadata) {
    description result;
    cursor from(metadata, false);
    std::uint32_t count = 0;
    if (!take_header(from, result) || !field_reader(result, false).take_all(from, 0, count))
        return {};
    while (!from.is_at_end())
        if (!take_tag(from, result))
            return {};
    return result;
}

} // namespace tool::eventpipe
