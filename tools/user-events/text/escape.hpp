// SPDX-License-Identifier: GPL-2.0-or-later
// Text from programs and files, made fit to be printed. It may have any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tool::text {

/// Whether a byte of UTF-8 text is within a character, not its first one.
constexpr bool is_continuation(char byte) noexcept {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80;
}

/// A character of UTF-8 text. `size` is 1 and `valid` false for a byte that is not part of one.
struct character {
    std::uint32_t code;
    std::uint8_t size;
    bool valid;
};

/// Decodes the first character of a text that is not empty.
character first_character(std::string_view text) noexcept;

/// Appends text for a terminal. Whatever could control a terminal, change the direction of text,
/// or is not UTF-8, is escaped as in C (`\n`, `\x1b`) or as `\u{202e}`; so is a backslash.
void append_escaped(std::string& to, std::string_view text);
std::string escaped(std::string_view text);

/// Appends escaped text, in quotation marks if it could look like another field, with a space, `=`
/// or `"`, or like `(null)` or a list. Quotation marks in it become `\"`.
void append_quotable(std::string& to, std::string_view text);
/// The same for an element of a list such as `{a,b}`, also if it is empty or has `,`, `{` or `}`.
void append_element(std::string& to, std::string_view text);

/// Appends text as UTF-8, with U+FFFD for each byte that is not part of a character.
void append_utf8(std::string& to, std::string_view text);
std::string to_utf8(std::string_view text);

/// Appends two digits for each byte.
void append_hexadecimal(std::string& to, std::span<const std::byte> data);
/// The bytes of such digits; nothing if these are none.
std::optional<std::string> from_hexadecimal(std::string_view digits);

} // namespace tool::text
