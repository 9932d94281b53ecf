// SPDX-License-Identifier: GPL-2.0-or-later
// Payloads that describe themselves, in the Common Trace Format: structures, and arrays of values
// and structures.
#pragma once

#include "eventheader/show.hpp"
#include "eventheader/value.hpp"
#include "export/ctf_library.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool::exporting {

enum class node_kind : std::uint8_t { structure, array, natural, hexadecimal, integer, real, text };

/// A field, with those that are in it. It refers to the payload.
struct payload_node {
    std::string_view name;
    node_kind kind;
    std::uint32_t size = 0;        // of a number, in bytes
    std::uint64_t number = 0;      // its bits, of 64
    eventheader::value value = {}; // of a number
    std::string text = {};         // the value in words, if it is no number
    std::vector<payload_node> children = {};

    /// Appends the kinds, sizes and names. Nodes to which this appends the same have the same
    /// class.
    void append_layout(std::string& to) const;
    /// Sets the text.
    void set_words();
    /// Makes a text of the node, as far as it is none.
    void become_text();
    field_class make_class(bt_trace_class* trace) const;
    void set(bt_field* to) const;
};

class payload_tree {
public:
    /// Replaces what is in the tree. With `as_text`, all fields together are a text with JSON.
    void fill(const eventheader::shown_event& shown, bool as_text);
    /// Adds a field, if none has this name.
    void add_text(std::string_view name, std::string text);

    void append_layout(std::string& to) const { root_.append_layout(to); }
    field_class make_class(bt_trace_class* trace) const { return root_.make_class(trace); }
    void set(bt_field* to) const { root_.set(to); }

private:
    payload_node root_{"", node_kind::structure};
};

/// What the header of all of these events has: level, keyword, opcode, id, version, tag, activity,
/// related_activity.
field_class payload_header_class(bt_trace_class* trace);
void set_payload_header(bt_field* to, const eventheader::shown_event& shown);

} // namespace tool::exporting
