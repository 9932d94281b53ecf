// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/chosen.hpp"
#include "eventheader/json_fields.hpp"
#include "eventheader/path.hpp"
#include "eventheader/show.hpp"
#include "eventheader/words.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"

namespace tool::eventheader {

namespace {

/// Lists the tags of fields, by dotted names. Elements of an array have the same tags.
class json_tags final : public visitor {
public:
    explicit json_tags(std::string& to) : to_(to), names_(to) {}

    void take(const field& field, const value&) override {
        if (!path_.is_in_array() && path_.is_first())
            add(field, path_.of(field));
    }
    void begin_array(const field& field) override {
        const bool is_first = path_.is_first();
        path_.begin_array(field);
        if (is_first)
            add(field, path_.text());
    }
    void end_array(const field&) override { path_.end(); }
    void begin_struct(const field& field) override {
        const bool is_element = path_.is_in_array();
        path_.begin_struct(field);
        if (!is_element && path_.is_first())
            add(field, path_.text());
    }
    void end_struct(const field&) override { path_.end(); }

private:
    void add(const field& field, const std::string& name) {
        if (!field.has_tag)
            return;
        names_.begin(name);
        to_ += '"';
        append_bits(to_, field.tag);
        to_ += '"';
    }

    std::string& to_;
    member_names names_;
    path path_{false};
};

void append_number(std::string& to, std::string_view name, std::uint64_t number) {
    if (number == 0)
        return;
    begin_member(to, name);
    text::append_json(to, number);
}

/// As a name, if the number has one.
void append_named(std::string& to, std::string_view name, std::uint8_t number,
                  std::string_view value) {
    if (value.empty() || number == 0)
        return append_number(to, name, number);
    begin_member(to, name);
    text::append_json(to, value);
}

void append_bits(std::string& to, std::string_view name, std::uint64_t number) {
    if (number == 0)
        return;
    begin_member(to, name);
    to += '"';
    eventheader::append_bits(to, number);
    to += '"';
}

void append_text(std::string& to, std::string_view name, std::string_view value) {
    if (value.empty())
        return;
    begin_member(to, name);
    text::append_json(to, value);
}

void append_attributes(std::string& to, const event& event) {
    std::string_view rest = event.name_and_attributes.substr(name_of(event).size());
    if (rest.empty())
        return;
    begin_member(to, "attributes");
    to += '{';
    member_names names(to);
    while (!rest.empty()) {
        const std::string_view attribute = take_attribute(rest);
        const std::size_t split = std::min(attribute.find('='), attribute.size());
        std::string name, value;
        append_unescaped(name, attribute.substr(0, split));
        append_unescaped(value, attribute.substr(std::min(split + 1, attribute.size())));
        names.begin(name);
        text::append_json(to, value);
    }
    to += '}';
}

void append_header(std::string& to, const shown_event& shown) {
    const event& event = shown.event;
    to += '{';
    append_text(to, "tracepoint", shown.tracepoint);
    append_text(to, "provider", shown.name.provider);
    append_text(to, "group", group_of(shown.name));
    append_named(to, "level", event.level, level_name(event.level));
    append_bits(to, "keyword", shown.name.keyword);
    append_named(to, "opcode", event.opcode, opcode_name(event.opcode));
    append_number(to, "id", event.id);
    append_number(to, "version", event.version);
    append_bits(to, "tag", event.tag);
    append_text(to, "activity", activity_text(event.activity));
    append_text(to, "related_activity", activity_text(event.related_activity));
    append_attributes(to, event);
    to += '}';
}

void append_failure(std::string& to, const failure& failure) {
    begin_member(to, "error");
    text::append_json(to, words_of(failure.why));
    begin_member(to, "undecoded");
    to += '"';
    text::append_hexadecimal(to, failure.undecoded);
    to += '"';
}

} // namespace

void append_json_fields(std::string& to, const shown_event& shown) {
    to += '{';
    json_fields fields(to);
    const failure failure = walk_chosen(shown, fields);
    if (failure.why != reason::none) {
        fields.begin_other("(not decoded)");
        text::append_json(to, words_of(failure));
    }
    to += '}';
}

void append_json_members(std::string& to, const shown_event& shown) {
    std::string name;
    append_name(name, shown);
    begin_member(to, "event");
    text::append_json(to, name);
    begin_member(to, "header");
    append_header(to, shown);
    begin_member(to, "fields");
    to += '{';
    json_fields fields(to);
    const failure failure = walk_chosen(shown, fields);
    to += '}';
    if (fields.has_tags()) {
        begin_member(to, "tags");
        to += '{';
        json_tags tags(to);
        walk_chosen(shown, tags);
        to += '}';
    }
    if (failure.why != reason::none)
        append_failure(to, failure);
}

} // namespace tool::eventheader
