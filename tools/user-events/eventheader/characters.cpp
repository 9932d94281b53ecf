// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/characters.hpp"

#include "text/escape.hpp"

#include <algorithm>

namespace tool::eventheader {

namespace {

constexpr std::uint32_t no_character = 0xfffd;

bool is_surrogate(std::uint64_t code) {
    return code >= 0xd800 && code < 0xe000;
}

void append_character(std::string& to, std::uint64_t code) {
    if (is_surrogate(code) || code > 0x10ffff)
        code = no_character;
    const auto byte = [&](std::uint64_t bits) { to += static_cast<char>(bits); };
    const auto more = [&](unsigned shift) { byte(0x80U | (code >> shift & 0x3fU)); };
    if (code < 0x80)
        return byte(code);
    if (code < 0x800) {
        byte(0xc0U | code >> 6);
        return more(0);
    }
    if (code < 0x10000) {
        byte(0xe0U | code >> 12);
    } else {
        byte(0xf0U | code >> 18);
        more(12);
    }
    more(6);
    more(0);
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

bool is_utf8(std::string_view text) {
    // Most text is.
    if (is_ascii(text))
        return true;
    while (!text.empty()) {
        const auto next = text::first_character(text);
        if (!next.valid)
            return false;
        text.remove_prefix(next.size);
    }
    return true;
}

void append_latin1(std::string& to, bytes text) {
    for (const std::byte each : text)
        append_character(to, std::to_integer<std::uint64_t>(each));
}

void append_utf8(std::string& to, bytes text) {
    if (is_utf8(to_text(text)))
        to += to_text(text);
    else
        append_latin1(to, text);
}

/// What is left of a unit at the end is no character.
void append_utf16(std::string& to, bytes text, bool is_big_endian) {
    while (!text.empty()) {
        const bytes unit = text.first(text.size() < 2 ? 1 : 2);
        text = text.subspan(unit.size());
        std::uint64_t code = unit.size() == 2 ? to_number(unit, is_big_endian) : no_character;
        if (code >= 0xd800 && code < 0xdc00 && text.size() >= 2) {
            const std::uint64_t second = to_number(text.first(2), is_big_endian);
            if (second >= 0xdc00 && second < 0xe000) {
                code = 0x10000 + ((code & 0x3ffU) << 10) + (second & 0x3ffU);
                text = text.subspan(2);
            }
        }
        append_character(to, code);
    }
}

void append_utf32(std::string& to, bytes text, bool is_big_endian) {
    for (; text.size() >= 4; text = text.subspan(4))
        append_character(to, to_number(text.first(4), is_big_endian));
    if (!text.empty())
        append_character(to, no_character);
}

void append_units(std::string& to, bytes text, std::size_t unit, bool is_big_endian) {
    if (unit == 1)
        append_utf8(to, text);
    else if (unit == 2)
        append_utf16(to, text, is_big_endian);
    else
        append_utf32(to, text, is_big_endian);
}

constexpr struct {
    std::string_view mark;
    std::size_t unit;
    bool is_big_endian;
} marks[] = {
    // That of UTF-32 begins with that of UTF-16.
    {{"\xff\xfe\0\0", 4}, 4, false}, {{"\0\0\xfe\xff", 4}, 4, true}, {"\xff\xfe", 2, false},
    {"\xfe\xff", 2, true},           {"\xef\xbb\xbf", 1, false},
};

/// The mark says what the text is. In larger units than bytes, it can only be that of such units.
void append_marked(std::string& to, const value& value) {
    for (const auto& [mark, unit, is_big_endian] : marks)
        if ((value.unit == 1 || value.unit == unit) && to_text(value.data).starts_with(mark))
            return append_units(to, value.data.subspan(mark.size()), unit, is_big_endian);
    append_units(to, value.data, value.unit, value.is_big_endian);
}

} // namespace

void append_text(std::string& to, const value& value) {
    if (value.meaning == meaning::latin1)
        append_latin1(to, value.data);
    else if (value.meaning == meaning::marked_utf)
        append_marked(to, value);
    else
        append_units(to, value.data, value.unit, value.is_big_endian);
}

} // namespace tool::eventheader
