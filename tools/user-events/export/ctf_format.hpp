// SPDX-License-Identifier: GPL-2.0-or-later
// The Common Trace Format: how values and packets are stored, and what a trace says of that. In
// version 1.8 it does so in a language of its own, in version 2 in JSON. The data are the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool::exporting {

enum class ctf_kind : std::uint8_t {
    structure,
    array,
    natural,
    hexadecimal, // a natural number that readers show so
    integer,
    real,
    text
};

/// How a field is stored: numbers in little endian, text up to a NUL, an array as its elements, of
/// which a field before it has the number. All are aligned to bytes.
struct ctf_type {
    ctf_kind kind;
    std::uint32_t size = 0; // of a number, in bytes
    /// The members of a structure. Of an array: the type of its elements, as the only member. That
    /// type is never an array.
    std::vector<ctf_type> members = {};
    /// As a member of a structure. Any bytes.
    std::string name = {};
    /// What version 2 calls a field that readers need. Version 1.8 knows it by its name.
    const char* role = nullptr;
};

/// Of the number of an array's elements.
constexpr std::uint32_t ctf_count_size = 4;

/// Adds a member to a structure, and before an array the number of its elements.
void append_member(ctf_type& structure, std::string_view name, ctf_type type);

/// Events that have the same fields.
struct ctf_event {
    std::string name; // UTF-8
    /// Structures; without members if there is none.
    ctf_type header;
    ctf_type fields;
};

void append_number(std::string& to, std::uint64_t number, std::uint32_t size);
void append_real(std::string& to, double number, std::uint32_t size);
/// Text up to its first NUL. What is not UTF-8 becomes U+FFFD.
void append_text(std::string& to, std::string_view text);

/// What is at the beginning of each packet.
struct ctf_packet_head {
    std::uint32_t stream;
    std::uint64_t begin; // times
    std::uint64_t end;
    std::uint64_t number; // in the stream
    std::uint64_t lost;   // in the stream up to the end
};
/// Appends a packet with this content.
void append_packet(std::string& to, const ctf_packet_head& head, std::string_view content);

struct ctf_trace {
    bool is_wall_clock = false; // whether times count from 1970
    /// What all records have, behind the number of the event (32 bits) and the time (64 bits).
    ctf_type context;
    std::vector<ctf_event> events; // by their numbers
};

/// The contents of the file `metadata`.
std::string to_ctf_1_metadata(const ctf_trace& trace);
std::string to_ctf_2_metadata(const ctf_trace& trace);

} // namespace tool::exporting
