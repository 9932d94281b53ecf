// SPDX-License-Identifier: GPL-2.0-or-later
// How an EventHeader event is shown: as a part of a line of text, or of a JSON object.
#pragma once

#include "eventheader/event.hpp"
#include "eventheader/tracepoint_name.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tool::eventheader {

/// What is shown. It refers to the tracepoint's name, to the payload and to the names of fields.
struct shown_event {
    /// What perf has recorded.
    shown_event(std::string_view tracepoint, bytes payload,
                const std::vector<std::string>& chosen) noexcept
        : tracepoint(tracepoint), name(to_tracepoint_name(tracepoint)),
          event(to_event(payload, perf_padding)), chosen(chosen) {}
    /// An event that was not read from an EventHeader payload.
    shown_event(std::string_view tracepoint, const tracepoint_name& name,
                const eventheader::event& event, const std::vector<std::string>& chosen) noexcept
        : tracepoint(tracepoint), name(name), event(event), chosen(chosen) {}

    std::string_view tracepoint;
    tracepoint_name name;
    eventheader::event event;
    /// Only these fields of the event itself are shown; if there are none, all fields.
    const std::vector<std::string>& chosen;
};

/// Appends `Provider:Event`, or the tracepoint's name if the payload has no name. It may have any
/// bytes.
void append_name(std::string& to, const shown_event& shown);

/// Appends name, header and fields, escaped for a terminal. Fields of structs have dotted names.
/// Then follows what could not be decoded, and why.
void append_line(std::string& to, const shown_event& shown);

/// Appends members of a JSON object: `event`, `header` and `fields`; `tags` if fields have tags;
/// `error` and `undecoded` if not all could be decoded.
void append_json_members(std::string& to, const shown_event& shown);

/// Appends the fields as a JSON object. If not all could be decoded, a member `(not decoded)` has
/// the reason and the bytes.
void append_json_fields(std::string& to, const shown_event& shown);

} // namespace tool::eventheader
