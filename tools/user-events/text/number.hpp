// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers in text.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tool::text {

/// The number that the whole text is; nothing if it is none or too large. `how` is the base, or the
/// format of a real number.
template <typename Number, typename... How>
std::optional<Number> to_number(std::string_view text, How... how) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number, how...);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

/// The number behind a label; 0 without it.
inline std::uint64_t number_behind(std::string_view text, std::string_view label) {
    std::uint64_t number = 0;
    if (const auto at = text.find(label); at != text.npos)
        std::from_chars(text.data() + at + label.size(), text.data() + text.size(), number);
    return number;
}

} // namespace tool::text
