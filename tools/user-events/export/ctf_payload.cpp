// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/ctf_payload.hpp"

#include "eventheader/walk.hpp"
#include "eventheader/words.hpp"

#include <algorithm>
#include <bit>

namespace tool::exporting {

namespace {

using eventheader::meaning;

/// Makes the tree while it visits the fields.
class tree_maker final : public eventheader::visitor {
public:
    explicit tree_maker(payload_node& root) { open_.push_back(&root); }

    void take(const eventheader::field& field, const eventheader::value& value) override {
        payload_node& made = add(field, ctf_kind::text);
        if (value.data.size() <= sizeof(made.number))
            set_number(made, value);
        made.value = value;
        if (made.kind == ctf_kind::text)
            made.set_words();
    }
    void begin_array(const eventheader::field& field) override {
        open_.push_back(&add(field, ctf_kind::array));
    }
    void begin_struct(const eventheader::field& field) override {
        open_.push_back(&add(field, ctf_kind::structure));
    }
    void end_array(const eventheader::field&) override {
        payload_node& array = *open_.back();
        open_.pop_back();
        require_one_type(array);
    }
    void end_struct(const eventheader::field&) override { open_.pop_back(); }

private:
    payload_node& add(const eventheader::field& field, ctf_kind kind) {
        const auto name = field.name.substr(0, eventheader::longest_name);
        open_.back()->children.push_back({name, kind});
        return open_.back()->children.back();
    }

    static void set_number(payload_node& to, const eventheader::value& value) {
        static constexpr ctf_kind kinds[] = {ctf_kind::text, ctf_kind::natural, ctf_kind::integer,
                                             ctf_kind::real};
        const auto [kind, bits] = bits_of(value);
        const bool is_hexadecimal = value.meaning == meaning::hexadecimal;
        to.kind = is_hexadecimal ? ctf_kind::hexadecimal : kinds[static_cast<int>(kind)];
        to.number = is_hexadecimal ? value.natural() : bits;
        to.size = to.kind == ctf_kind::text ? 0 : static_cast<std::uint32_t>(value.data.size());
    }

    /// Elements of an array have one type. Those that differ, because some are null or have
    /// arrays of other lengths, are texts.
    static void require_one_type(payload_node& array) {
        if (array.children.empty())
            return;
        std::string first;
        array.children.front().append_layout(first);
        const bool is_one = std::all_of(array.children.begin() + 1, array.children.end(),
                                        [&](const payload_node& child) {
                                            std::string layout;
                                            child.append_layout(layout);
                                            return layout == first;
                                        });
        if (!is_one)
            for (payload_node& child : array.children)
                child.become_text();
    }

    // Pointers stay valid: what is open is the last child of its parent.
    std::vector<payload_node*> open_;
};

} // namespace

void payload_node::append_layout(std::string& to) const {
    // No name has a NUL.
    to += name;
    to += '\0';
    to += static_cast<char>('a' + static_cast<int>(kind));
    to += static_cast<char>('0' + size);
    if (kind == ctf_kind::structure) {
        to += '{';
        for (const payload_node& child : children)
            child.append_layout(to);
        to += '}';
    } else if (kind == ctf_kind::array) {
        to += '[';
        if (!children.empty())
            children.front().append_layout(to);
        to += ']';
    }
}

void payload_node::set_words() {
    text.clear();
    if (value.meaning == meaning::null)
        text = "(null)";
    else
        append_words(text, value);
}

void payload_node::become_text() {
    if (kind == ctf_kind::structure || kind == ctf_kind::array) {
        text = "{";
        for (payload_node& child : children) {
            child.become_text();
            text += text.size() == 1 ? "" : ",";
            if (kind == ctf_kind::structure)
                (text += child.name) += '=';
            text += child.text;
        }
        text += '}';
    } else if (kind != ctf_kind::text) {
        set_words();
    }
    kind = ctf_kind::text;
    size = 0;
    children.clear();
}

ctf_type payload_node::type() const {
    ctf_type result{kind, size};
    if (kind == ctf_kind::array)
        append_member(result, "",
                      children.empty() ? ctf_type{ctf_kind::text} : children.front().type());
    else
        for (const payload_node& child : children)
            append_member(result, child.name, child.type());
    return result;
}

void payload_node::append(std::string& to) const {
    switch (kind) {
    case ctf_kind::array:
        append_number(to, children.size(), ctf_count_size);
        [[fallthrough]];
    case ctf_kind::structure:
        for (const payload_node& child : children)
            child.append(to);
        break;
    case ctf_kind::natural:
    case ctf_kind::hexadecimal:
    case ctf_kind::integer:
        append_number(to, number, size);
        break;
    case ctf_kind::real:
        append_real(to, std::bit_cast<double>(number), size);
        break;
    case ctf_kind::text:
        append_text(to, text);
    }
}

void payload_tree::fill(const eventheader::shown_event& shown, bool as_text) {
    root_.children.clear();
    if (as_text) {
        root_.children.push_back({"fields", ctf_kind::text});
        append_json_fields(root_.children.back().text, shown);
        return;
    }
    tree_maker maker(root_);
    const auto failure = walk(shown.event, maker);
    if (failure.why != eventheader::reason::none) {
        root_.children.push_back({"not_decoded", ctf_kind::text});
        root_.children.back().text = words_of(failure);
    }
}

void payload_tree::add_text(std::string_view name, std::string text) {
    if (std::any_of(root_.children.begin(), root_.children.end(),
                    [&](const payload_node& child) { return child.name == name; }))
        return;
    root_.children.push_back({.name = name, .kind = ctf_kind::text, .text = std::move(text)});
}

ctf_type payload_header_type() {
    ctf_type result{ctf_kind::structure};
    append_member(result, "level", {ctf_kind::text});
    append_member(result, "keyword", {ctf_kind::hexadecimal, 8});
    append_member(result, "opcode", {ctf_kind::text});
    append_member(result, "id", {ctf_kind::natural, 2});
    append_member(result, "version", {ctf_kind::natural, 1});
    append_member(result, "tag", {ctf_kind::hexadecimal, 2});
    append_member(result, "activity", {ctf_kind::text});
    append_member(result, "related_activity", {ctf_kind::text});
    return result;
}

void append_payload_header(std::string& to, const eventheader::shown_event& shown) {
    const eventheader::event& event = shown.event;
    append_text(to, eventheader::level_text(event.level));
    append_number(to, shown.name.keyword, 8);
    append_text(to, eventheader::opcode_text(event.opcode));
    append_number(to, event.id, 2);
    append_number(to, event.version, 1);
    append_number(to, event.tag, 2);
    append_text(to, eventheader::activity_text(event.activity));
    append_text(to, eventheader::activity_text(event.related_activity));
}

} // namespace tool::exporting
