// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/ctf_payload.hpp"

#include "eventheader/walk.hpp"
#include "eventheader/words.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace tool::exporting {

namespace {

using eventheader::meaning;

/// Makes the tree while it visits the fields.
class tree_maker final : public eventheader::visitor {
public:
    explicit tree_maker(payload_node& root) { open_.push_back(&root); }

    void take(const eventheader::field& field, const eventheader::value& value) override {
        payload_node& made = add(field, node_kind::text);
        if (value.data.size() <= sizeof(made.number))
            set_number(made, value);
        made.value = value;
        if (made.kind == node_kind::text)
            made.set_words();
    }
    void begin_array(const eventheader::field& field) override {
        open_.push_back(&add(field, node_kind::array));
    }
    void begin_struct(const eventheader::field& field) override {
        open_.push_back(&add(field, node_kind::structure));
    }
    void end_array(const eventheader::field&) override {
        payload_node& array = *open_.back();
        open_.pop_back();
        require_one_class(array);
    }
    void end_struct(const eventheader::field&) override { open_.pop_back(); }

private:
    payload_node& add(const eventheader::field& field, node_kind kind) {
        const auto name = field.name.substr(0, eventheader::longest_name);
        open_.back()->children.push_back({name, kind});
        return open_.back()->children.back();
    }

    static void set_number(payload_node& to, const eventheader::value& value) {
        to.size = static_cast<std::uint32_t>(value.data.size());
        switch (value.meaning) {
        case meaning::natural:
        case meaning::port:
            to.kind = node_kind::natural;
            to.number = value.natural();
            break;
        case meaning::hexadecimal:
            to.kind = node_kind::hexadecimal;
            to.number = value.natural();
            break;
        case meaning::integer:
        case meaning::process:
            to.kind = node_kind::integer;
            to.number = static_cast<std::uint64_t>(value.integer());
            break;
        case meaning::real:
            to.kind = node_kind::real;
            to.number = std::bit_cast<std::uint64_t>(value.real());
            break;
        default:
            to.size = 0;
        }
    }

    /// Elements of an array have one class. Those that differ, because some are null or have
    /// arrays of other lengths, are texts.
    static void require_one_class(payload_node& array) {
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
    if (kind == node_kind::structure) {
        to += '{';
        for (const payload_node& child : children)
            child.append_layout(to);
        to += '}';
    } else if (kind == node_kind::array) {
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
    if (kind == node_kind::structure || kind == node_kind::array) {
        text = "{";
        for (payload_node& child : children) {
            child.become_text();
            text += text.size() == 1 ? "" : ",";
            if (kind == node_kind::structure)
                (text += child.name) += '=';
            text += child.text;
        }
        text += '}';
    } else if (kind != node_kind::text) {
        set_words();
    }
    kind = node_kind::text;
    size = 0;
    children.clear();
}

field_class payload_node::make_class(bt_trace_class* trace) const {
    switch (kind) {
    case node_kind::structure: {
        field_class result(made(bt_field_class_structure_create(trace)));
        std::set<std::string> names;
        for (const payload_node& child : children)
            append_member(result, identifier(child.name, names), child.make_class(trace));
        return result;
    }
    case node_kind::array: {
        const field_class element =
            children.empty() ? string_class(trace) : children.front().make_class(trace);
        return field_class(
            made(bt_field_class_array_dynamic_create(trace, element.get(), nullptr)));
    }
    case node_kind::natural:
    case node_kind::integer:
        return integer_class(trace, kind == node_kind::integer, size);
    case node_kind::hexadecimal: {
        field_class result = integer_class(trace, false, size);
        bt_field_class_integer_set_preferred_display_base(
            result.get(), BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
        return result;
    }
    case node_kind::real:
        return real_class(trace, size);
    case node_kind::text:
        break;
    }
    return string_class(trace);
}

void payload_node::set(bt_field* to) const {
    std::uint64_t i = 0;
    switch (kind) {
    case node_kind::structure:
        for (const payload_node& child : children)
            child.set(bt_field_structure_borrow_member_field_by_index(to, i++));
        break;
    case node_kind::array:
        check(bt_field_array_dynamic_set_length(to, children.size()), "set an array");
        for (const payload_node& child : children)
            child.set(bt_field_array_borrow_element_field_by_index(to, i++));
        break;
    case node_kind::natural:
    case node_kind::hexadecimal:
        bt_field_integer_unsigned_set_value(to, number);
        break;
    case node_kind::integer:
        bt_field_integer_signed_set_value(to, static_cast<std::int64_t>(number));
        break;
    case node_kind::real:
        if (size == 4)
            bt_field_real_single_precision_set_value(
                to, static_cast<float>(std::bit_cast<double>(number)));
        else
            bt_field_real_double_precision_set_value(to, std::bit_cast<double>(number));
        break;
    case node_kind::text:
        set_text(to, text);
    }
}

void payload_tree::fill(const eventheader::shown_event& shown, bool as_text) {
    root_.children.clear();
    if (as_text) {
        root_.children.push_back({"fields", node_kind::text});
        append_json_fields(root_.children.back().text, shown);
        return;
    }
    tree_maker maker(root_);
    const auto failure = walk(shown.event, maker);
    if (failure.why != eventheader::reason::none) {
        root_.children.push_back({"not_decoded", node_kind::text});
        root_.children.back().text = words_of(failure);
    }
}

void payload_tree::add_text(std::string_view name, std::string text) {
    if (std::any_of(root_.children.begin(), root_.children.end(),
                    [&](const payload_node& child) { return child.name == name; }))
        return;
    root_.children.push_back({.name = name, .kind = node_kind::text, .text = std::move(text)});
}

field_class payload_header_class(bt_trace_class* trace) {
    field_class result(made(bt_field_class_structure_create(trace)));
    const auto bits = [&](std::uint32_t size) {
        field_class made = integer_class(trace, false, size);
        bt_field_class_integer_set_preferred_display_base(
            made.get(), BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
        return made;
    };
    append_member(result, "level", string_class(trace));
    append_member(result, "keyword", bits(8));
    append_member(result, "opcode", string_class(trace));
    append_member(result, "id", integer_class(trace, false, 2));
    append_member(result, "version", integer_class(trace, false, 1));
    append_member(result, "tag", bits(2));
    append_member(result, "activity", string_class(trace));
    append_member(result, "related_activity", string_class(trace));
    return result;
}

void set_payload_header(bt_field* to, const eventheader::shown_event& shown) {
    const eventheader::event& event = shown.event;
    std::uint64_t i = 0;
    const auto next = [&] { return bt_field_structure_borrow_member_field_by_index(to, i++); };
    set_text(next(), eventheader::level_text(event.level));
    bt_field_integer_unsigned_set_value(next(), shown.name.keyword);
    set_text(next(), eventheader::opcode_text(event.opcode));
    bt_field_integer_unsigned_set_value(next(), event.id);
    bt_field_integer_unsigned_set_value(next(), event.version);
    bt_field_integer_unsigned_set_value(next(), event.tag);
    set_text(next(), eventheader::activity_text(event.activity));
    set_text(next(), eventheader::activity_text(event.related_activity));
}

} // namespace tool::exporting
