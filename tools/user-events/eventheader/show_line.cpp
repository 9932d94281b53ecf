// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/chosen.hpp"
#include "eventheader/path.hpp"
#include "eventheader/show.hpp"
#include "eventheader/words.hpp"
#include "text/escape.hpp"

#include <fmt/format.h>
#include <iterator>

namespace tool::eventheader {

namespace {

/// ` name=value` for each value, ` name={value,value}` for an array of values. The fields of a
/// struct have its name in front, with the number of the element if the struct is in an array.
class line_fields final : public visitor {
public:
    explicit line_fields(std::string& to) : to_(to) {}

    void take(const field& field, const value& value) override {
        if (!path_.is_in_array()) {
            name_.clear();
            path_.append_name(name_, field);
            begin(name_);
        } else if (!to_.ends_with('{')) {
            to_ += ',';
        }
        append_value(value, path_.is_in_array());
    }
    void begin_array(const field& field) override {
        path_.begin_array(field);
        if (field.is_struct())
            return enter();
        begin(path_.text());
        to_ += '{';
    }
    void end_array(const field& field) override {
        if (field.is_struct())
            leave();
        else
            to_ += '}';
        path_.end();
    }
    void begin_struct(const field& field) override {
        path_.begin_struct(field);
        enter();
    }
    void end_struct(const field&) override {
        leave();
        path_.end();
    }

private:
    void begin(const std::string& name) {
        to_ += ' ';
        text::append_quotable(to_, name);
        to_ += '=';
    }

    /// What has no values is shown, too.
    void enter() { sizes_.push_back(to_.size()); }
    void leave() {
        if (to_.size() == sizes_.back()) {
            begin(path_.text());
            to_ += "{}";
        }
        sizes_.pop_back();
    }

    void append_value(const value& value, bool is_element) {
        if (value.meaning == meaning::null) {
            to_ += "(null)";
            return;
        }
        words_.clear();
        append_words(words_, value);
        if (is_element && (is_text(value.meaning) || words_.empty()))
            text::append_element(to_, words_);
        else if (is_text(value.meaning))
            text::append_quotable(to_, words_);
        else
            to_ += words_;
    }

    std::string& to_;
    std::string name_;
    std::string words_;
    path path_;
    std::vector<std::size_t> sizes_;
};

void append_number(std::string& to, const char* name, std::uint64_t number) {
    if (number)
        fmt::format_to(std::back_inserter(to), " {}={}", name, number);
}

void append_bits(std::string& to, std::string_view name, std::uint64_t number) {
    if (number == 0)
        return;
    ((to += ' ') += name) += '=';
    eventheader::append_bits(to, number);
}

/// The name, if the number has one.
void append_named(std::string& to, const char* what, std::uint8_t number, std::string_view name) {
    if (name.empty() || number == 0)
        return append_number(to, what, number);
    to += ' ';
    to += name;
}

void append_activity(std::string& to, const char* name, const activity& activity) {
    if (!activity.empty())
        fmt::format_to(std::back_inserter(to), " {}={}", name, activity_text(activity));
}

/// ` [warning keyword=0x1]`, or nothing if all is zero.
void append_header(std::string& to, const shown_event& shown) {
    const event& event = shown.event;
    const std::size_t begin = to.size();
    append_named(to, "level", event.level, level_name(event.level));
    append_bits(to, "keyword", shown.name.keyword);
    append_named(to, "opcode", event.opcode, opcode_name(event.opcode));
    append_number(to, "id", event.id);
    append_number(to, "version", event.version);
    append_bits(to, "tag", event.tag);
    append_activity(to, "activity", event.activity);
    append_activity(to, "related", event.related_activity);
    if (to.size() == begin)
        return;
    to.insert(begin + 1, 1, '[');
    to += ']';
}

void append_failure(std::string& to, const failure& failure) {
    fmt::format_to(std::back_inserter(to), " (not decoded, because {})", words_of(failure));
}

} // namespace

void append_line(std::string& to, const shown_event& shown) {
    std::string name;
    append_name(name, shown);
    text::append_quotable(to, name);
    append_header(to, shown);
    to += ':';
    line_fields fields(to);
    const failure failure = walk_chosen(shown, fields);
    if (failure.why != reason::none)
        append_failure(to, failure);
}

} // namespace tool::eventheader
