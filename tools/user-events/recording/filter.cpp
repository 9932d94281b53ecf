// SPDX-License-Identifier: GPL-2.0-only
#include "recording/filter.hpp"

namespace tool::recording {

namespace {

std::string to_regular_expression(std::string_view glob) {
    std::string result = "^";
    for (const char c : glob) {
        if (c == '*')
            result += ".*";
        else if (c == '?' || c == '\\' ||
                 c == '^') // libtraceevent removes backslashes from strings
            result += '.';
        else if (std::string_view("$.|+(){}").find(c) != std::string_view::npos)
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

} // namespace tool::recording
