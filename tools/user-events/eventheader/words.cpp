// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/words.hpp"

#include "eventheader/characters.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace tool::eventheader {

void append_bits(std::string& to, std::uint64_t number) {
    static constexpr char digits[] = "0123456789ABCDEF";
    to += "0x";
    for (int shift = (static_cast<int>(std::bit_width(number | 1)) - 1) / 4 * 4; shift >= 0;
         shift -= 4)
        to += digits[number >> shift & 15];
}

void append_uuid(std::string& to, bytes data) {
    for (const std::size_t size : {4, 2, 2, 2, 6}) {
        text::append_hexadecimal(to, data.first(size));
        data = data.subspan(size);
        to += data.empty() ? "" : "-";
    }
}

namespace {

template <std::floating_point Number>
void append(std::string& to, Number number) {
    fmt::format_to(std::back_inserter(to), "{}", number);
}

void append_error(std::string& to, std::int64_t number) {
    const char* const name = number > 0 ? strerrorname_np(static_cast<int>(number)) : nullptr;
    fmt::format_to(std::back_inserter(to), "{}({})", name ? name : "ERRNO", number);
}

/// In UTC. A year has at most five digits.
void append_time(std::string& to, std::int64_t seconds) {
    constexpr int first_year = 0, last_year = 99'999;
    const auto as_time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    const bool is_date = gmtime_r(&as_time, &parts) && parts.tm_year >= first_year - 1900 &&
                         parts.tm_year <= last_year - 1900;
    if (is_date)
        fmt::format_to(std::back_inserter(to), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                       parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                       parts.tm_min, parts.tm_sec);
    else
        fmt::format_to(std::back_inserter(to), "TIME({})", seconds);
}

/// Programs use other numbers than 0 and 1, too.
void append_truth(std::string& to, const value& value) {
    if (value.natural() <= 1)
        to += value.natural() ? "true" : "false";
    else if (value.data.size() == 4)
        text::append_json(to, value.integer());
    else
        text::append_json(to, value.natural());
}

void append_real(std::string& to, const value& value) {
    if (value.data.size() == 4) // fewer digits
        append(to, static_cast<float>(value.real()));
    else
        append(to, value.real());
}

void append_address(std::string& to, bytes data) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (inet_ntop(data.size() == 4 ? AF_INET : AF_INET6, data.data(), text.data(), text.size()))
        to += text.data();
}

void append_guid(std::string& to, bytes data) {
    std::array<std::byte, 16> ordered{};
    std::copy(data.begin(), data.end(), ordered.begin());
    std::reverse(ordered.begin(), ordered.begin() + 4);
    std::swap(ordered[4], ordered[5]);
    std::swap(ordered[6], ordered[7]);
    append_uuid(to, ordered);
}

/// Of 64 bits: up to the year 60056.
void append_units_since_1601(std::string& to, std::uint64_t units) {
    constexpr std::uint64_t second = 10'000'000;
    constexpr std::int64_t from_1601_to_1970 = 11'644'473'600;
    const auto seconds = static_cast<std::time_t>(units / second) - from_1601_to_1970;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    fmt::format_to(std::back_inserter(to), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}Z",
                   parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                   parts.tm_min, parts.tm_sec, units % second);
}

/// Year, month, day of the week, day, hour, minute, second, milliseconds: they may be any numbers.
void append_date(std::string& to, const value& value) {
    if (value.data.size() == sizeof(std::uint64_t))
        return append_units_since_1601(to, value.natural());
    std::array<std::uint64_t, 8> parts{};
    for (std::size_t i = 0; i < parts.size(); i++)
        parts[i] = to_number(value.data.subspan(2 * i, 2), value.is_big_endian);
    fmt::format_to(std::back_inserter(to), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts[0],
                   parts[1], parts[3], parts[4], parts[5], parts[6], parts[7]);
}

constexpr std::string_view levels[] = {"",        "critical",    "error",
                                       "warning", "information", "verbose"};
constexpr std::string_view opcodes[] = {"info", "start", "stop"};

std::string named(std::uint8_t number, std::string_view name) {
    return name.empty() && number ? std::to_string(number) : std::string(name);
}

} // namespace

void append_words(std::string& to, const value& value) {
    switch (value.meaning) {
    case meaning::none:
    case meaning::null:
        break;
    case meaning::natural:
    case meaning::port:
        return text::append_json(to, value.natural());
    case meaning::integer:
    case meaning::process:
        return text::append_json(to, value.integer());
    case meaning::hexadecimal:
        return append_bits(to, value.natural());
    case meaning::error_number:
        return append_error(to, value.integer());
    case meaning::time:
        return append_time(to, value.integer());
    case meaning::truth:
        return append_truth(to, value);
    case meaning::real:
        return append_real(to, value);
    case meaning::bytes:
        return text::append_hexadecimal(to, value.data);
    case meaning::uuid:
        return append_uuid(to, value.data);
    case meaning::address:
        return append_address(to, value.data);
    case meaning::guid:
        return append_guid(to, value.data);
    case meaning::date:
        return append_date(to, value);
    case meaning::latin1:
    case meaning::utf:
    case meaning::marked_utf:
        return append_text(to, value);
    }
}

bool is_bare(const value& value) noexcept {
    switch (value.meaning) {
    case meaning::natural:
    case meaning::integer:
    case meaning::process:
    case meaning::truth:
    case meaning::port:
        return true;
    case meaning::real:
        return std::isfinite(value.real());
    default:
        return false;
    }
}

std::string_view level_name(std::uint8_t level) noexcept {
    return level < std::size(levels) ? levels[level] : "";
}

std::string_view opcode_name(std::uint8_t opcode) noexcept {
    return opcode < std::size(opcodes) ? opcodes[opcode] : "";
}

std::string level_text(std::uint8_t level) {
    return named(level, level_name(level));
}

std::string opcode_text(std::uint8_t opcode) {
    return named(opcode, opcode_name(opcode));
}

std::string activity_text(const activity& activity) {
    std::string result;
    if (activity.is_guid && !activity.empty())
        append_guid(result, activity.data);
    else if (!activity.empty())
        append_uuid(result, activity.data);
    return result;
}

} // namespace tool::eventheader
