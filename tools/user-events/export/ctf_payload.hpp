// SPDX-License-Identifier: GPL-2.0-or-later
// Payloads that describe themselves, in the Common Trace Format: structures, and arrays of values
// and structures.
#pragma once

#include "export/ctf_library.hpp"
#include "recording/record.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool::exporting {

enum class node_kind : std::uint8_t { structure, array, natural, hexadecimal, integer, real, text };

/// A field, with those that are in it.
struct payload_node {
    std::string name;
    node_kind kind;
    std::uint32_t size = 0;   // of a number, in bytes
    std::uint64_t number = 0; // its bits, of 64
    std::string text = {};    // the value in words, also of a number
    std::vector<payload_node> children = {};

    /// Appends the kinds, sizes and names. Nodes with the same text have the same class.
    void append_layout(std::string& to) const;
    /// Makes a text of the node, as far as it is none.
    void become_text();
    field_class make_class(bt_trace_class* trace) const;
    void set(bt_field* to) const;
};

class payload_tree {
public:
    payload_tree() = default;
    /// With `as_text`, all fields together are a text with JSON.
    payload_tree(const recording::record& record, bool as_text);

    std::string layout() const;
    field_class make_class(bt_trace_class* trace) const { return root_.make_class(trace); }
    void set(bt_field* to) const { root_.set(to); }

private:
    payload_node root_{"", node_kind::structure};
};

/// What the header of all of these events has: level, keyword, opcode, id, version, tag, activity,
/// related_activity.
field_class payload_header_class(bt_trace_class* trace);
void set_payload_header(bt_field* to, const recording::record& record);

} // namespace tool::exporting
