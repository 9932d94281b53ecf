// SPDX-License-Identifier: GPL-2.0-only
#include "eventheader/cells.hpp"

#include "eventheader/chosen.hpp"
#include "eventheader/json_fields.hpp"
#include "eventheader/path.hpp"
#include "eventheader/words.hpp"
#include "text/escape.hpp"

#include <fmt/format.h>
#include <optional>

namespace tool::eventheader {

namespace {

class cell_fields final : public visitor {
public:
    explicit cell_fields(std::vector<cell>& to) : to_(to) {}

    void take(const field& field, const value& value) override {
        if (json_)
            return json_->take(field, value);
        if (path_.is_in_array())
            return add_element(value);
        to_.push_back({path_.of(field), "", is_text(value.meaning)});
        append_words(to_.back().text, value);
    }
    void begin_array(const field& field) override {
        if (json_) {
            open_++;
            return json_->begin_array(field);
        }
        path_.begin_array(field);
        to_.push_back({path_.text(), field.is_struct() ? "[" : "{", false});
        if (field.is_struct())
            json_.emplace(to_.back().text);
    }
    void end_array(const field& field) override {
        if (open_ > 0) {
            open_--;
            return json_->end_array(field);
        }
        to_.back().text += json_ ? ']' : '}';
        json_.reset();
        path_.end();
    }
    void begin_struct(const field& field) override {
        if (json_)
            json_->begin_struct(field);
        else
            path_.begin_struct(field);
    }
    void end_struct(const field& field) override {
        if (json_)
            json_->end_struct(field);
        else
            path_.end();
    }

private:
    void add_element(const value& value) {
        std::string& to = to_.back().text;
        to += to.ends_with('{') ? "" : ",";
        std::string words;
        append_words(words, value);
        if (value.meaning == meaning::null)
            to += "(null)";
        else if (is_text(value.meaning) || words.empty())
            text::append_element(to, words);
        else
            to += words;
    }

    std::vector<cell>& to_;
    path path_;
    /// In an array of structs, which is one cell, with the number of arrays open in it.
    std::optional<json_fields> json_;
    unsigned open_ = 0;
};

std::string named(std::uint8_t number, std::string_view name) {
    return name.empty() && number ? std::to_string(number) : std::string(name);
}

std::string activity(bytes from) {
    std::string result;
    if (!from.empty())
        append_uuid(result, from);
    return result;
}

} // namespace

std::vector<cell> to_cells(const shown_event& shown) {
    const event& event = shown.event;
    std::vector<cell> result{
        {"level", named(event.level, level_name(event.level)), false},
        {"keyword", fmt::format("0x{:X}", shown.name.keyword), false},
        {"opcode", named(event.opcode, opcode_name(event.opcode)), false},
        {"id", std::to_string(event.id), false},
        {"version", std::to_string(event.version), false},
        {"tag", fmt::format("0x{:X}", event.tag), false},
        {"activity", activity(event.activity), false},
        {"related_activity", activity(event.related_activity), false},
        {"not_decoded", "", false},
    };
    const std::size_t not_decoded = result.size() - 1;
    cell_fields fields(result);
    chosen_fields chosen(fields, shown.chosen);
    const failure failure = walk(event, chosen);
    if (failure.why != reason::none)
        result[not_decoded].text = words_of(failure);
    return result;
}

} // namespace tool::eventheader
