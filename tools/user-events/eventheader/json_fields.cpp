// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/json_fields.hpp"

#include "eventheader/words.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace tool::eventheader {

namespace {

/// A comma, if it is not the first in an object or array.
void separate(std::string& to) {
    if (!to.ends_with('{') && !to.ends_with('['))
        to += ',';
}

} // namespace

void begin_member(std::string& to, std::string_view name) {
    separate(to);
    ((to += '"') += name) += "\":";
}

bool member_names::is_taken(place name) const {
    return std::any_of(names_.begin() + static_cast<std::ptrdiff_t>(first_), names_.end(),
                       [&](place other) { return text_of(other) == text_of(name); });
}

void member_names::begin(std::string_view name) {
    separate(to_);
    place made{to_.size(), 0};
    text::append_json(to_, name);
    made.size = to_.size() - made.begin;
    // What is before the closing quote.
    const std::size_t end = to_.size() - 1;
    for (unsigned number = 2; is_taken(made); number++) {
        to_.resize(end);
        fmt::format_to(std::back_inserter(to_), "_{}\"", number);
        made.size = to_.size() - made.begin;
    }
    names_.push_back(made);
    to_ += ':';
}

void json_fields::take(const field& field, const value& value) {
    begin(field);
    if (value.meaning == meaning::null) {
        to_ += "null";
    } else if (is_bare(value)) {
        append_words(to_, value);
    } else {
        words_.clear();
        append_words(words_, value);
        text::append_json(to_, words_);
    }
}

void json_fields::begin(const field& field) {
    has_tags_ |= field.has_tag;
    if (is_array_ & 1)
        separate(to_);
    else
        names_.begin(field.name);
}

void json_fields::open(const field& field, char bracket, bool is_array) {
    begin(field);
    to_ += bracket;
    is_array_ = is_array_ << 1 | static_cast<std::uint32_t>(is_array);
}

void json_fields::close(char bracket) {
    to_ += bracket;
    is_array_ >>= 1;
}

} // namespace tool::eventheader
