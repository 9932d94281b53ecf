// SPDX-License-Identifier: GPL-2.0-or-later
#include "text/json.hpp"

#include "text/escape.hpp"
#include "text/output.hpp"

#include <array>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tool::text {

namespace {

/// The characters that are written as they are.
constexpr auto plain_characters = [] {
    std::array<bool, 256> result{};
    for (unsigned c = ' '; c < 0x7f; c++)
        result[c] = c != '"' && c != '\\' && c != '<';
    return result;
}();

} // namespace

void append_json(std::string& to, std::string_view text) {
    to += '"';
    std::size_t plain = 0;
    for (std::size_t i = 0; i < text.size();) {
        if (plain_characters[static_cast<unsigned char>(text[i])]) {
            i++;
            continue;
        }
        const character next = first_character(text.substr(i));
        if (next.valid && next.code >= 0xa0 && next.code != 0x2028 && next.code != 0x2029) {
            i += next.size;
            continue;
        }
        to += text.substr(plain, i - plain);
        if (!next.valid)
            to += "\xef\xbf\xbd";
        else if (next.code == '"' || next.code == '\\')
            (to += '\\') += static_cast<char>(next.code);
        else if (next.code == '\n')
            to += "\\n";
        else
            fmt::format_to(std::back_inserter(to), "\\u{:04x}", next.code);
        i += next.size;
        plain = i;
    }
    to += text.substr(plain);
    to += '"';
}

void append_json(std::string& to, double number) {
    if (std::isfinite(number))
        fmt::format_to(std::back_inserter(to), "{}", number);
    else
        to += "null";
}

void print_json(const nlohmann::ordered_json& document) {
    print(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

} // namespace tool::text
