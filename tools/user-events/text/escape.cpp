// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/escape.hpp"

#include "text/number.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace tool::text {

character first_character(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80)
        return {first, 1, true};
    const std::uint8_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    static constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (first < 0xc2 || first > 0xf4 || text.size() < size)
        return {first, 1, false};
    std::uint32_t code = first & (0x7fU >> size);
    for (std::uint8_t i = 1; i < size; i++) {
        if (!is_continuation(text[i]))
            return {first, 1, false};
        code = code << 6 | (byte(i) & 0x3fU);
    }
    // Longer than need be, half of a pair of UTF-16, or too large.
    if (code < least[size] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
        return {first, 1, false};
    return {code, size, true};
}

namespace {

/// Control characters of C1, and those that change the direction of text or separate lines.
bool is_hidden_control(std::uint32_t code) {
    return (code >= 0x80 && code < 0xa0) || code == 0x61c || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
           code == 0xfeff;
}

} // namespace

void append_escaped(std::string& to, std::string_view text) {
    while (!text.empty()) {
        const character next = first_character(text);
        if (!next.valid || next.code < ' ' || next.code == 0x7f) {
            switch (next.code) {
            case '\n':
                to += "\\n";
                break;
            case '\t':
                to += "\\t";
                break;
            case '\r':
                to += "\\r";
                break;
            default:
                fmt::format_to(std::back_inserter(to), "\\x{:02x}", next.code);
            }
        } else if (next.code == '\\') {
            to += "\\\\";
        } else if (is_hidden_control(next.code)) {
            fmt::format_to(std::back_inserter(to), "\\u{{{:x}}}", next.code);
        } else {
            to += text.substr(0, next.size);
        }
        text.remove_prefix(next.size);
    }
}

namespace {

void append_quoted(std::string& to, std::string_view text) {
    to += '"';
    for (const char c : escaped(text)) {
        if (c == '"')
            to += '\\';
        to += c;
    }
    to += '"';
}

} // namespace

void append_quotable(std::string& to, std::string_view text) {
    if (text.find_first_of(" =\"") == text.npos && !text.starts_with('(') && !text.starts_with('{'))
        append_escaped(to, text);
    else
        append_quoted(to, text);
}

void append_element(std::string& to, std::string_view text) {
    if (!text.empty() && text.find_first_of(" =\",{}") == text.npos)
        append_escaped(to, text);
    else
        append_quoted(to, text);
}

void append_utf8(std::string& to, std::string_view text) {
    while (!text.empty()) {
        const auto* const plain =
            std::find_if(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
        to.append(text.begin(), plain);
        text.remove_prefix(static_cast<std::size_t>(plain - text.begin()));
        if (text.empty())
            return;
        const character next = first_character(text);
        to += next.valid ? text.substr(0, next.size) : "\xef\xbf\xbd";
        text.remove_prefix(next.size);
    }
}

std::string to_utf8(std::string_view text) {
    std::string result;
    append_utf8(result, text);
    return result;
}

void append_hexadecimal(std::string& to, std::span<const std::byte> data) {
    static constexpr char digits[] = "0123456789abcdef";
    for (const std::byte byte : data) {
        to += digits[std::to_integer<unsigned>(byte) >> 4];
        to += digits[std::to_integer<unsigned>(byte) & 15];
    }
}

std::optional<std::string> from_hexadecimal(std::string_view digits) {
    std::string result;
    for (; digits.size() >= 2; digits.remove_prefix(2)) {
        const auto byte = to_number<std::uint8_t>(digits.substr(0, 2), 16);
        if (!byte)
            return {};
        result += static_cast<char>(*byte);
    }
    return digits.empty() ? std::optional(std::move(result)) : std::nullopt;
}

std::string escaped(std::string_view text) {
    std::string result;
    append_escaped(result, text);
    return result;
}

} // namespace tool::text
