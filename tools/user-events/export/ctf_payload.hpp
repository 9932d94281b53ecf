// SPDX-License-Identifier: GPL-2.0-or-later
// Payloads that describe themselves, in the Common Trace Format: structures, and arrays of values
// and structures.
#pragma once

#include "eventheader/show.hpp"
#include "eventheader/value.hpp"
#include "export/ctf_format.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool::exporting {

/// A field, with those that are in it. It refers to the payload.
struct payload_node {
    std::string_view name;
    ctf_kind kind;
    std::uint32_t size = 0;        // of a number, in bytes; otherwise 0
    std::uint64_t number = 0;      // its bits, of 64
    eventheader::value value = {}; // of what is neither array nor structure
    std::string text = {};         // the value in words, if it is no number
    std::vector<payload_node> children = {};

    /// Appends the kinds, sizes and names. Nodes to which this appends the same have the same
    /// type.
    void append_layout(std::string& to) const;
    /// Sets the text.
    void set_words();
    /// Turns the node into a text, unless it is one already. A structure or an array becomes one
    /// text with all of its members.
    void become_text();
    ctf_type type() const;
    void append(std::string& to) const;
};

class payload_tree {
public:
    /// Replaces what is in the tree. With `as_text`, all fields together are a text with JSON.
    void fill(const eventheader::shown_event& shown, bool as_text);
    /// Adds a field, if none has this name.
    void add_text(std::string_view name, std::string text);

    void append_layout(std::string& to) const { root_.append_layout(to); }
    ctf_type type() const { return root_.type(); }
    void append(std::string& to) const { root_.append(to); }

private:
    payload_node root_{"", ctf_kind::structure};
};

/// What the header of all of these events has: level, keyword, opcode, id, version, tag, activity,
/// related_activity.
ctf_type payload_header_type();
void append_payload_header(std::string& to, const eventheader::shown_event& shown);

} // namespace tool::exporting
