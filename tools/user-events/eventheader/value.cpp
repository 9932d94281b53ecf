// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/value.hpp"

#include <bit>

namespace tool::eventheader {

namespace {

reason take_data(cursor& from, const encoding& encoding, bytes& to) noexcept {
    if (encoding.shape == shape::terminated)
        return from.take_terminated(encoding.unit, to) ? reason::none : reason::no_end_of_string;
    std::uint16_t units = 1;
    if (encoding.shape == shape::counted && !from.take(units))
        return reason::value_cut_off;
    return from.take(std::size_t{units} * encoding.unit, to) ? reason::none : reason::value_cut_off;
}

} // namespace

double value::real() const noexcept {
    return data.size() == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(natural()))
                            : std::bit_cast<double>(natural());
}

reason take_value(cursor& from, const field& field, value& to) noexcept {
    cursor at = from;
    bytes data;
    const reason why = take_data(at, field.encoding, data);
    if (why != reason::none)
        return why;
    const meaning meaning = meaning_of(field.encoding, field.format, data.size());
    // Ports are in the byte order of the network.
    to = {meaning, data, field.encoding.unit, from.is_big_endian() || meaning == meaning::port};
    from = at;
    return reason::none;
}

std::optional<long double> number_of(const value& value) noexcept {
    switch (value.meaning) {
    case meaning::natural:
    case meaning::port:
    case meaning::truth:
        return static_cast<long double>(value.natural());
    case meaning::hexadecimal:
        if (value.data.size() > sizeof(std::uint64_t))
            return {};
        return static_cast<long double>(value.natural());
    case meaning::integer:
    case meaning::process:
    case meaning::error_number:
    case meaning::time:
        return static_cast<long double>(value.integer());
    case meaning::real:
        return value.real();
    default:
        return {};
    }
}

} // namespace tool::eventheader
