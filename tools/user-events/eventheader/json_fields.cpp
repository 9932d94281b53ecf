// SPDX-License-Identifier: GPL-2.0-only
#include "eventheader/json_fields.hpp"

#include "eventheader/words.hpp"
#include "text/json.hpp"

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
    text::append_json(to, name);
    to += ':';
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
        begin_member(to_, field.name);
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
