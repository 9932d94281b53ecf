// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/cells.hpp"

#include "eventheader/chosen.hpp"
#include "eventheader/json_fields.hpp"
#include "eventheader/path.hpp"
#include "eventheader/words.hpp"
#include "text/escape.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <tuple>

namespace tool::eventheader {

namespace {

class cell_fields final : public visitor {
public:
    /// Replaces the cells from this number on, as far as there are some.
    cell_fields(std::vector<cell>& to, std::size_t first) : to_(to), count_(first) {}

    std::size_t count() const noexcept { return count_; }

    void add_text(const char* name, const std::string& text) {
        cell& made = next(true);
        made.name = name;
        made.text = text;
    }

    void take(const field& field, const value& value) override {
        if (json_)
            return json_->take(field, value);
        if (path_.is_in_array())
            return add_element(value);
        cell& made = next(is_text(value.meaning));
        path_.append_name(made.name, field);
        append_words(made.text, value);
        // What is a number in JSON is one in a table.
        std::tie(made.kind, made.number) = bits_of(value);
    }
    void begin_array(const field& field) override {
        if (json_) {
            open_++;
            return json_->begin_array(field);
        }
        path_.begin_array(field);
        cell& made = next(false);
        made.name = path_.text();
        made.text = field.is_struct() ? '[' : '{';
        if (field.is_struct())
            json_.emplace(made.text);
    }
    void end_array(const field& field) override {
        if (open_ > 0) {
            open_--;
            return json_->end_array(field);
        }
        last().text += json_ ? ']' : '}';
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
    cell& last() { return to_[count_ - 1]; }
    cell& next(bool is_text) {
        if (count_ == to_.size())
            to_.emplace_back();
        cell& made = to_[count_++];
        made.name.clear();
        made.text.clear();
        made.is_text = is_text;
        made.kind = number_kind::none;
        made.number = 0;
        return made;
    }

    void add_element(const value& value) {
        std::string& to = last().text;
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
    std::size_t count_;
    path path_;
    /// In an array of structs, which is one cell, with the number of arrays open in it.
    std::optional<json_fields> json_;
    unsigned open_ = 0;
};

/// In the order of fill_header().
constexpr const char* header_names[] = {"level",    "keyword",          "opcode",
                                        "id",       "version",          "tag",
                                        "activity", "related_activity", "not_decoded"};

void set_natural(cell& to, std::uint64_t number) {
    to.text = fmt::format_int(number).str();
    to.kind = number_kind::natural;
    to.number = number;
}

void set_bits(cell& to, std::uint64_t number) {
    to.text.clear();
    append_bits(to.text, number);
}

} // namespace

void cell_row::fill_header(const shown_event& shown) {
    const event& event = shown.event;
    const header now{.keyword = shown.name.keyword,
                     .id = event.id,
                     .tag = event.tag,
                     .version = event.version,
                     .opcode = event.opcode,
                     .level = event.level};
    if (cells_.empty() || now != header_) {
        if (cells_.empty())
            for (const char* const name : header_names)
                cells_.push_back({.name = name});
        cells_[0].text = level_text(now.level);
        set_bits(cells_[1], now.keyword);
        cells_[2].text = opcode_text(now.opcode);
        set_natural(cells_[3], now.id);
        set_natural(cells_[4], now.version);
        set_bits(cells_[5], now.tag);
        header_ = now;
    }
    cells_[6].text = activity_text(event.activity);
    cells_[7].text = activity_text(event.related_activity);
    cells_[8].text.clear();
}

std::span<const cell> cell_row::fill(const shown_event& shown, const char* name,
                                     const std::optional<std::string>& more) {
    fill_header(shown);
    constexpr std::size_t header_size = std::size(header_names);
    cell_fields fields(cells_, header_size);
    const failure failure = walk_chosen(shown, fields);
    is_complete_ = failure.why == reason::none;
    if (!is_complete_)
        cells_[header_size - 1].text = words_of(failure);
    const auto is_named = [name](const cell& cell) { return cell.name == name; };
    if (more &&
        std::none_of(cells_.begin(), cells_.begin() + static_cast<std::ptrdiff_t>(fields.count()),
                     is_named))
        fields.add_text(name, *more);
    return std::span(cells_).first(fields.count());
}

} // namespace tool::eventheader
