// SPDX-License-Identifier: GPL-2.0-or-later
// JSON, written as a stream: for many records. Documents are made with nlohmann::ordered_json and
// printed with print_json().
#pragma once

#include <concepts>
#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tool::text {

/// Appends a string with its quotes. What is not UTF-8 becomes U+FFFD, as JSON is UTF-8. `<` and
/// the separators of lines of JavaScript are escaped, so the text can be part of a script.
void append_json(std::string& to, std::string_view text);
/// Numbers. Those that JSON lacks (NaN, infinity) become null.
void append_json(std::string& to, double number);
template <std::integral Number>
void append_json(std::string& to, Number number) {
    const fmt::format_int digits(number);
    to.append(digits.data(), digits.size());
}

/// Prints a document to standard output, and a newline.
void print_json(const nlohmann::ordered_json& document);

} // namespace tool::text
