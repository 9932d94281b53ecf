// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/ctf_format.hpp"

#include "text/escape.hpp"
#include "text/unique.hpp"

#include <bit>
#include <cctype>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace tool::exporting {

namespace {

using json = nlohmann::ordered_json;

// As append_packet() writes them.

const ctf_type packet_header{ctf_kind::structure,
                             0,
                             {{ctf_kind::hexadecimal, 4, {}, "magic", "packet-magic-number"},
                              {ctf_kind::natural, 4, {}, "stream_instance_id", "data-stream-id"}}};

const ctf_type packet_context{
    ctf_kind::structure,
    0,
    {{ctf_kind::natural, 8, {}, "timestamp_begin", "default-clock-timestamp"},
     {ctf_kind::natural, 8, {}, "timestamp_end", "packet-end-default-clock-timestamp"},
     {ctf_kind::natural, 8, {}, "content_size", "packet-content-length"},
     {ctf_kind::natural, 8, {}, "packet_size", "packet-total-length"},
     {ctf_kind::natural, 8, {}, "packet_seq_num", "packet-sequence-number"},
     {ctf_kind::natural, 8, {}, "events_discarded", "discarded-event-record-counter-snapshot"}}};

const ctf_type event_header{ctf_kind::structure,
                            0,
                            {{ctf_kind::natural, 4, {}, "id", "event-record-class-id"},
                             {ctf_kind::natural, 8, {}, "timestamp", "default-clock-timestamp"}}};

const char* clock_name(const ctf_trace& trace) {
    return trace.is_wall_clock ? "wall_clock" : "since_boot";
}

bool is_time(const ctf_type& member) {
    return member.role && std::string_view(member.role).ends_with("default-clock-timestamp");
}

/// Version 1.8. Names are identifiers, and readers leave out an underscore in front of a name,
/// which tells it from words of the language.
class text_writer {
public:
    explicit text_writer(const ctf_trace& trace) : trace_(trace) {}

    std::string write();

private:
    std::string type(const ctf_type& type, bool is_time = false) const;
    std::string structure(const ctf_type& type) const;
    static std::string quoted(std::string_view text);

    const ctf_trace& trace_;
};

std::string to_identifier(const ctf_type& member) {
    if (member.role)
        return member.name;
    std::string result = "_";
    for (const char c : member.name)
        result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return result;
}

std::string text_writer::type(const ctf_type& type, bool is_time) const {
    switch (type.kind) {
    case ctf_kind::natural:
    case ctf_kind::hexadecimal:
    case ctf_kind::integer:
        return fmt::format(
            "integer {{ size = {}; align = 8; signed = {};{}{} }}", 8 * type.size,
            type.kind == ctf_kind::integer, type.kind == ctf_kind::hexadecimal ? " base = 16;" : "",
            is_time ? fmt::format(" map = clock.{}.value;", clock_name(trace_)) : "");
    case ctf_kind::real:
        return fmt::format("floating_point {{ exp_dig = {}; mant_dig = {}; align = 8; }}",
                           type.size == 4 ? 8 : 11, type.size == 4 ? 24 : 53);
    case ctf_kind::text:
        return "string { encoding = UTF8; }";
    case ctf_kind::array:
        return this->type(type.members.front());
    case ctf_kind::structure:
        break;
    }
    return structure(type);
}

std::string text_writer::structure(const ctf_type& type) const {
    std::string result = "struct { ";
    std::set<std::string> taken;
    std::string before;
    for (const ctf_type& member : type.members) {
        const std::string name = text::unique(to_identifier(member), taken);
        // babeltrace2 refuses a name that is one of those before without their underscore.
        taken.insert(name.substr(name.starts_with('_')));
        result += this->type(member, is_time(member)) + " " + name;
        if (member.kind == ctf_kind::array)
            result += "[" + before + "]";
        result += "; ";
        before = name;
    }
    return result + "} align(8)";
}

std::string text_writer::quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            result += '\\';
        result += c;
    }
    return result + '"';
}

std::string text_writer::write() {
    std::string result = fmt::format("/* CTF 1.8 */\n"
                                     "trace {{ major = 1; minor = 8; byte_order = le; "
                                     "packet.header := {}; }};\n",
                                     structure(packet_header));
    result += fmt::format("clock {{ name = {}; freq = 1000000000; offset = 0; absolute = {}; }};\n",
                          clock_name(trace_), trace_.is_wall_clock);
    result +=
        fmt::format("stream {{ packet.context := {}; event.header := {}; "
                    "event.context := {}; }};\n",
                    structure(packet_context), structure(event_header), structure(trace_.context));
    for (std::size_t i = 0; i < trace_.events.size(); i++) {
        const ctf_event& event = trace_.events[i];
        result += fmt::format("event {{ name = {}; id = {};", quoted(event.name), i);
        if (!event.header.members.empty())
            result += fmt::format(" context := {};", structure(event.header));
        result += fmt::format(" fields := {}; }};\n", structure(event.fields));
    }
    return result;
}

/// Version 2. Names are any text.
json json_of(const ctf_type& type);

json json_of_number(const char* name, const ctf_type& type) {
    return {{"type", name},
            {"length", 8 * type.size},
            {"byte-order", "little-endian"},
            {"alignment", 8}};
}

json json_of_structure(const ctf_type& type) {
    json members = json::array();
    std::set<std::string> taken;
    std::string before;
    for (const ctf_type& member : type.members) {
        std::string clean;
        text::append_utf8(clean, member.name);
        const std::string name = text::unique(clean, taken);
        json each = json_of(member);
        if (member.role)
            each["roles"] = json::array({member.role});
        if (member.kind == ctf_kind::array)
            each["length-field-location"] = {{"path", json::array({before})}};
        members.push_back({{"name", name}, {"field-class", std::move(each)}});
        before = name;
    }
    return {{"type", "structure"}, {"member-classes", std::move(members)}};
}

json json_of(const ctf_type& type) {
    switch (type.kind) {
    case ctf_kind::natural:
        return json_of_number("fixed-length-unsigned-integer", type);
    case ctf_kind::hexadecimal: {
        json result = json_of_number("fixed-length-unsigned-integer", type);
        result["preferred-display-base"] = 16;
        return result;
    }
    case ctf_kind::integer:
        return json_of_number("fixed-length-signed-integer", type);
    case ctf_kind::real:
        return json_of_number("fixed-length-floating-point-number", type);
    case ctf_kind::text:
        return {{"type", "null-terminated-string"}};
    case ctf_kind::array:
        return {{"type", "dynamic-length-array"},
                {"element-field-class", json_of(type.members.front())}};
    case ctf_kind::structure:
        break;
    }
    return json_of_structure(type);
}

/// The format is a sequence of JSON texts, as in RFC 7464.
void append_fragment(std::string& to, const json& fragment) {
    to += '\x1e';
    to += fragment.dump(-1, ' ', false, json::error_handler_t::replace);
    to += '\n';
}

} // namespace

void append_number(std::string& to, std::uint64_t number, std::uint32_t size) {
    for (std::uint32_t i = 0; i < size; i++)
        to += static_cast<char>(number >> 8 * i);
}

void append_real(std::string& to, double number, std::uint32_t size) {
    if (size == 4)
        append_number(to, std::bit_cast<std::uint32_t>(static_cast<float>(number)), size);
    else
        append_number(to, std::bit_cast<std::uint64_t>(number), size);
}

void append_text(std::string& to, std::string_view text) {
    text::append_utf8(to, text.substr(0, text.find('\0')));
    to += '\0';
}

void append_packet(std::string& to, const ctf_packet_head& head, std::string_view content) {
    constexpr std::uint64_t head_size = 56;
    const std::uint64_t bits = 8 * (head_size + content.size());
    append_number(to, 0xc1fc1fc1, 4);
    append_number(to, head.stream, 4);
    for (const std::uint64_t each : {head.begin, head.end, bits, bits, head.number, head.lost})
        append_number(to, each, 8);
    to += content;
}

void append_member(ctf_type& structure, std::string_view name, ctf_type type) {
    if (type.kind == ctf_kind::array)
        structure.members.push_back(
            {ctf_kind::natural, ctf_count_size, {}, fmt::format("__{}_len", name)});
    structure.members.push_back(std::move(type));
    structure.members.back().name = name;
}

std::string to_ctf_1_metadata(const ctf_trace& trace) {
    return text_writer(trace).write();
}

std::string to_ctf_2_metadata(const ctf_trace& trace) {
    std::string result;
    append_fragment(result, {{"type", "preamble"}, {"version", 2}});
    append_fragment(
        result, {{"type", "trace-class"}, {"packet-header-field-class", json_of(packet_header)}});
    json clock = {{"type", "clock-class"},
                  {"id", clock_name(trace)},
                  {"name", clock_name(trace)},
                  {"frequency", 1'000'000'000}};
    if (trace.is_wall_clock)
        clock["origin"] = "unix-epoch";
    append_fragment(result, clock);
    append_fragment(result, {{"type", "data-stream-class"},
                             {"default-clock-class-id", clock_name(trace)},
                             {"packet-context-field-class", json_of(packet_context)},
                             {"event-record-header-field-class", json_of(event_header)},
                             {"event-record-common-context-field-class", json_of(trace.context)}});
    for (std::size_t i = 0; i < trace.events.size(); i++) {
        const ctf_event& event = trace.events[i];
        json fragment = {{"type", "event-record-class"}, {"id", i}, {"name", event.name}};
        if (!event.header.members.empty())
            fragment["specific-context-field-class"] = json_of(event.header);
        fragment["payload-field-class"] = json_of(event.fields);
        append_fragment(result, fragment);
    }
    return result;
}

} // namespace tool::exporting
