// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/filter.hpp"

#include <algorithm>
#include <cctype>

namespace tool::recording {

namespace {

/// Where the set of characters that begins here ends: behind its "]"; 0 if it has none.
std::size_t end_of_set(std::string_view glob) {
    const std::size_t first = glob.starts_with("[!") ? 2 : 1;
    // A "]" that is the first one is a character of the set.
    return glob.find(']', first + 1) + 1;
}

/// A set that begins with "^" would be all other characters.
std::string to_library_set(std::string_view set) {
    const bool is_inverted = set[1] == '!';
    std::string characters(set.substr(is_inverted ? 2 : 1));
    if (!is_inverted && characters[0] == '^' && characters.size() > 2)
        std::rotate(characters.begin(), characters.begin() + 1, characters.end() - 1);
    return (is_inverted ? "[^" : "[") + characters;
}

std::string to_regular_expression(std::string_view glob) {
    std::string result = "^";
    for (std::size_t i = 0; i < glob.size(); i++) {
        const char c = glob[i];
        const std::size_t set = c == '[' ? end_of_set(glob.substr(i)) : 0;
        if (set) {
            result += to_library_set(glob.substr(i, set));
            i += set - 1;
        } else if (c == '*')
            result += ".*";
        else if (c == '?' || c == '\\' ||
                 c == '^') // libtraceevent removes backslashes from strings
            result += '.';
        else if (std::string_view("$.|+(){}[").find(c) != std::string_view::npos)
            ((result += '[') += c) += ']';
        else
            result += c;
    }
    return result + "$";
}

} // namespace

std::string to_library_filter(std::string_view filter) {
    std::string result;
    bool is_glob = false;
    for (std::size_t i = 0; i < filter.size(); i++) {
        const char c = filter[i];
        if (c == '"' || c == '\'') {
            const std::size_t end = filter.find(c, i + 1);
            if (end == filter.npos)
                return result.append(filter.substr(i));
            const std::string_view text = filter.substr(i + 1, end - i - 1);
            result += c;
            result += is_glob ? to_regular_expression(text) : std::string(text);
            result += c;
            is_glob = false;
            i = end;
        } else if (c == '~' && (i == 0 || (filter[i - 1] != '=' && filter[i - 1] != '!'))) {
            result += "=~";
            is_glob = true;
        } else {
            result += c;
        }
    }
    return result;
}

std::vector<std::string> fields_of(std::string_view filter) {
    const auto is_word = [](char c) {
        return c == '_' || std::isalnum(static_cast<unsigned char>(c));
    };
    std::vector<std::string> result;
    bool is_next = true;
    for (std::size_t i = 0; i < filter.size();) {
        std::size_t end = i + 1;
        if (is_word(filter[i])) {
            while (end < filter.size() && is_word(filter[end]))
                end++;
            if (is_next && !std::isdigit(static_cast<unsigned char>(filter[i])))
                result.emplace_back(filter.substr(i, end - i));
            is_next = false;
        } else if (filter[i] == '"' || filter[i] == '\'') {
            end = std::min(filter.find(filter[i], end), filter.size() - 1) + 1;
        } else if (const auto two = filter.substr(i, 2); two == "&&" || two == "||") {
            is_next = true;
            end++;
        }
        i = end;
    }
    return result;
}

} // namespace tool::recording
