// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/json_fields.hpp"

#include "eventheader/words.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
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

member_names::place* member_names::find(std::string_view text, std::size_t hash) {
    const auto begin = hashes_.begin() + static_cast<std::ptrdiff_t>(first_);
    for (auto at = begin; (at = std::find(at, hashes_.end(), hash)) != hashes_.end(); ++at)
        if (place& found = names_[static_cast<std::size_t>(at - hashes_.begin())];
            text_of(found) == text)
            return &found;
    return nullptr;
}

void member_names::begin(std::string_view name) {
    separate(to_);
    const std::size_t begin = to_.size();
    text::append_json(to_, name);
    // What is before the closing quote.
    const std::size_t end = to_.size() - 1;
    const auto made = [&] { return std::string_view(to_).substr(begin); };
    const std::hash<std::string_view> hash_of;
    std::size_t hash = hash_of(made());
    if (place* const same = find(made(), hash))
        do {
            to_.resize(end);
            fmt::format_to(std::back_inserter(to_), "_{}\"", ++same->last_number);
            hash = hash_of(made());
        } while (find(made(), hash));
    names_.push_back({begin, made().size()});
    hashes_.push_back(hash);
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
