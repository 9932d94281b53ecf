// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/cells.hpp"

#include "eventheader/chosen.hpp"
#include "eventheader/json_fields.hpp"
#include "eventheader/path.hpp"
#include "eventheader/words.hpp"
#include "text/escape.hpp"

#include <bit>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace tool::eventheader {

namespace {

/// What is a number in JSON is one in a table.
void set_number(cell& to, const value& value) {
    switch (value.meaning) {
    case meaning::natural:
    case meaning::port:
        to.kind = number_kind::natural;
        to.number = value.natural();
        break;
    case meaning::integer:
    case meaning::process:
        to.kind = number_kind::integer;
        to.number = static_cast<std::uint64_t>(value.integer());
        break;
    case meaning::real:
        to.kind = number_kind::real;
        to.number = std::bit_cast<std::uint64_t>(value.real());
        break;
    default:
        break;
    }
}

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
        set_number(to_.back(), value);
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

cell natural(std::string name, std::uint64_t number) {
    return {std::move(name), std::to_string(number), false, number_kind::natural, number};
}

} // namespace

std::vector<cell> to_cells(const shown_event& shown) {
    const event& event = shown.event;
    std::vector<cell> result{
        {"level", level_text(event.level), false},
        {"keyword", fmt::format("0x{:X}", shown.name.keyword), false},
        {"opcode", opcode_text(event.opcode), false},
        natural("id", event.id),
        natural("version", event.version),
        {"tag", fmt::format("0x{:X}", event.tag), false},
        {"activity", activity_text(event.activity), false},
        {"related_activity", activity_text(event.related_activity), false},
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
