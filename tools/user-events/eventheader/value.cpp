// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/value.hpp"

#include <bit>

namespace tool::eventheader {

namespace {

/// The eight numbers begin with year, month, day of the week and day. As the first date of 8 bytes
/// that has a day of a month in that place is of 1601, and the last one of 1629, no program has
/// one.
std::size_t size_of_date(const cursor& from) noexcept {
    constexpr std::size_t size = 8, size_of_numbers = 16;
    if (from.rest().size() < size_of_numbers)
        return size;
    const auto number = [&](std::size_t i) {
        return to_number(from.rest().subspan(2 * i, 2), from.is_big_endian());
    };
    const bool is_month = number(1) >= 1 && number(1) <= 12;
    const bool is_day = number(2) <= 6 && number(3) >= 1 && number(3) <= 31;
    return is_month && is_day ? size_of_numbers : size;
}

reason take_data(cursor& from, const encoding& encoding, bytes& to) noexcept {
    if (encoding.shape == shape::date)
        return from.take(size_of_date(from), to) ? reason::none : reason::value_cut_off;
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

std::optional<number> number_of(const value& value) noexcept {
    const auto size = static_cast<unsigned>(value.data.size());
    switch (value.meaning) {
    case meaning::natural:
    case meaning::port:
    case meaning::truth:
        return number::of_natural(value.natural(), size);
    case meaning::hexadecimal:
        if (value.data.size() > sizeof(std::uint64_t))
            return {};
        return number::of_natural(value.natural(), size);
    case meaning::integer:
    case meaning::process:
    case meaning::error_number:
    case meaning::time:
        return number::of_integer(value.integer(), size);
    case meaning::real:
        return number::of_real(value.real());
    default:
        return {};
    }
}

std::pair<number_kind, std::uint64_t> bits_of(const value& value) noexcept {
    switch (value.meaning) {
    case meaning::natural:
    case meaning::port:
        return {number_kind::natural, value.natural()};
    case meaning::integer:
    case meaning::process:
        return {number_kind::integer, static_cast<std::uint64_t>(value.integer())};
    case meaning::real:
        return {number_kind::real, std::bit_cast<std::uint64_t>(value.real())};
    default:
        return {number_kind::none, 0};
    }
}

} // namespace tool::eventheader
