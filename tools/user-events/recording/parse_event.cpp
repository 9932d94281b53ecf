// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/parse_event.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <event-parse.h>
#include <string>
#include <string_view>
#include <vector>

namespace tool::recording {

namespace {

bool is_no_word(char c) {
    return c != '_' && !std::isalnum(static_cast<unsigned char>(c));
}

bool is_word(std::string_view text) {
    return std::none_of(text.begin(), text.end(), is_no_word);
}

/// Whether it is a size in brackets: a number or a constant. That of an in-tree user event may be
/// any number, also a negative one.
bool is_size(std::string_view text) {
    return is_word(text.substr(text.starts_with('-')));
}

/// The names of an event. Empty are those that the library finds itself.
struct odd_names {
    struct field {
        std::string name;
        std::string type;
    };
    std::string event;
    std::vector<field> fields; // the common ones too, in their order
};

/// Appends a part, made a word if it is none. Returns it then.
std::string append_word(std::string& to, std::string_view part) {
    const std::size_t start = to.size();
    to += part;
    if (is_word(part))
        return {};
    std::replace_if(to.begin() + static_cast<std::ptrdiff_t>(start), to.end(), is_no_word, '_');
    return std::string(part);
}

/// Appends `TYPE NAME` or `TYPE NAME[SIZE]`.
odd_names::field append_declaration(std::string& to, std::string_view declaration) {
    odd_names::field result;
    const std::size_t space = declaration.rfind(' ');
    // A field of the kernel: a pointer, or without a type.
    if (space == declaration.npos || declaration.find('*') != declaration.npos) {
        to += declaration;
        return result;
    }
    constexpr std::string_view structure = "struct ";
    const std::string_view type = declaration.substr(0, space);
    std::string_view name = declaration.substr(space + 1);
    if (type.starts_with(structure)) {
        to += structure;
        if (!append_word(to, type.substr(structure.size())).empty())
            result.type = type;
    } else if (const auto bracket = type.find('[');
               bracket != type.npos &&
               (type.back() != ']' ||
                !is_size(type.substr(bracket + 1, type.size() - bracket - 2)))) {
        // In a damaged file: libtraceevent would read where nothing is.
        to += type.substr(0, bracket);
        result.type = type;
    } else {
        to += type;
    }
    to += ' ';
    std::string_view size;
    if (const auto bracket = name.rfind('['); bracket != name.npos && name.back() == ']')
        if (is_size(name.substr(bracket + 1, name.size() - bracket - 2))) {
            size = name.substr(bracket);
            name = name.substr(0, bracket);
        }
    result.name = append_word(to, name);
    to += size;
    return result;
}

/// Appends a format in words.
odd_names append_format(std::string& to, std::string_view format) {
    constexpr std::string_view name = "name: ", field = "\tfield:", print = "print fmt:";
    odd_names result;
    while (!format.empty()) {
        const std::string_view line = format.substr(0, format.find('\n'));
        if (line.starts_with(print)) {
            // The tool does not need it, and in a damaged file it can crash the library.
            to += "print fmt: \"\"\n";
            break;
        }
        std::string_view rest = line;
        if (line.starts_with(name)) {
            to += name;
            result.event = append_word(to, line.substr(name.size()));
            rest = {};
        } else if (const auto end = line.find(";\toffset:");
                   line.starts_with(field) && end != line.npos) {
            to += field;
            result.fields.push_back(
                append_declaration(to, line.substr(field.size(), end - field.size())));
            rest = line.substr(end);
        }
        to += rest;
        to += '\n';
        format.remove_prefix(std::min(line.size() + 1, format.size()));
    }
    return result;
}

/// Replaces a text that the library frees.
void replace(char*& text, const std::string& by) {
    if (by.empty())
        return;
    if (char* const copy = strdup(by.c_str())) {
        std::free(text);
        text = copy;
    }
}

void put_back(tep_event& event, const odd_names& names) {
    replace(event.name, names.event);
    auto original = names.fields.begin();
    for (tep_format_field* const first : {event.format.common_fields, event.format.fields})
        for (auto* field = first; field && original != names.fields.end();
             field = field->next, ++original) {
            const bool has_alias = field->alias != field->name;
            replace(field->name, original->name);
            if (!has_alias)
                field->alias = field->name;
            replace(field->type, original->type);
        }
}

} // namespace

tep_event* parse_event(tep_handle* handle, std::string_view format, const std::string& system) {
    std::string words;
    const odd_names names = append_format(words, format);
    tep_event* event = nullptr;
    tep_parse_format(handle, &event, words.data(), words.size(), system.c_str());
    if (event)
        put_back(*event, names);
    return event;
}

} // namespace tool::recording
