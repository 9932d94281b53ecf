// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/field.hpp"

namespace tool::eventheader {

namespace {

constexpr std::uint8_t encoding_bits = 0x1f;
constexpr std::uint8_t constant_array = 0x20;
constexpr std::uint8_t variable_array = 0x40;
constexpr std::uint8_t more_follows = 0x80;

reason take_array(cursor& from, std::uint8_t flags, field& to) noexcept {
    if (flags & constant_array && flags & variable_array)
        return reason::two_kinds_of_array;
    if (flags & variable_array)
        to.array = array::variable;
    if (!(flags & constant_array))
        return reason::none;
    to.array = array::constant;
    if (!from.take(to.length))
        return reason::field_cut_off;
    return to.length == 0 ? reason::empty_constant_array : reason::none;
}

reason take_description(cursor& from, field& to) noexcept {
    bytes name;
    if (!from.take_terminated(1, name))
        return reason::no_end_of_field_name;
    to.name = to_text(name).substr(0, longest_name);
    std::uint8_t encoding = 0, format = 0;
    if (!from.take(encoding) || (encoding & more_follows && !from.take(format)))
        return reason::field_cut_off;
    to.has_tag = format & more_follows;
    to.format = format & static_cast<std::uint8_t>(~more_follows);
    if (to.has_tag && !from.take(to.tag))
        return reason::field_cut_off;
    to.encoding = encoding_of(encoding & encoding_bits);
    if (to.encoding.shape == shape::unknown)
        return reason::unknown_encoding;
    if (to.is_struct() && to.format == 0)
        return reason::struct_without_fields;
    return take_array(from, encoding, to);
}

} // namespace

reason take_field(cursor& from, field& to, unsigned& steps) noexcept {
    cursor at = from;
    to = {};
    const reason why = take_description(at, to);
    const std::size_t needed = 1 + (from.rest().size() - at.rest().size()) / step_size;
    if (needed > steps)
        return reason::too_many_items;
    steps -= static_cast<unsigned>(needed);
    if (why == reason::none)
        from = at;
    return why;
}

reason descriptions::take(field& to, unsigned& steps) noexcept {
    if (read_.empty())
        return take_field(bytes_, to, steps);
    if (steps == 0)
        return reason::too_many_items;
    steps--;
    to = read_.front();
    if (to.encoding.shape == shape::unknown)
        return reason::unknown_encoding;
    read_ = read_.subspan(1);
    return reason::none;
}

reason skip_fields(descriptions& from, unsigned count, unsigned depth, unsigned& steps) noexcept {
    for (; count > 0 && !from.is_at_end(); count--) {
        field field;
        if (const reason why = from.take(field, steps); why != reason::none)
            return why;
        if (!field.is_struct())
            continue;
        if (depth == most_nested)
            return reason::too_deep;
        if (const reason why = skip_fields(from, field.format, depth + 1, steps);
            why != reason::none)
            return why;
    }
    return reason::none;
}

} // namespace tool::eventheader
