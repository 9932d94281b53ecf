// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/tracks.hpp"

#include "eventheader/words.hpp"
#include "text/errors.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace tool::exporting {

using recording::kind;

/// The fields that the library's slice.hpp and counter.hpp record.
convention::convention(const recording::event_type& event) {
    for (const recording::field& field : event.fields) {
        const bool is_text = field.kind == kind::text;
        const bool is_integer = field.kind == kind::integer || field.kind == kind::natural;
        if (field.name == "track_event_type" && field.size == 1)
            type = &field;
        else if (field.name == "slice_name" && is_text)
            slice_name = &field;
        else if (field.name == "track_name" && is_text)
            track_name = &field;
        else if (field.name == "counter_value" && (is_integer || field.kind == kind::real))
            counter_value = &field;
        else if (field.name.starts_with("scope_") && is_integer && !scope)
            scope = &field;
        else if (field.name == "flow_id" && is_integer)
            flow = &field;
    }
}

bool convention::has(const recording::field& field) const noexcept {
    return &field == type || &field == slice_name || &field == track_name ||
           &field == counter_value;
}

slice_mark slice_mark_of(const recording::record& record, const convention& fields) {
    const auto type = read(*fields.type, record.data);
    const std::string_view text = type.text(), name = read(*fields.slice_name, record.data).text();
    const char letter = type.kind == kind::text ? text.empty() ? '\0' : text.front()
                                                : static_cast<char>(type.natural);
    const auto role = letter == 'B'   ? slice_mark::role::begin
                      : letter == 'E' ? slice_mark::role::end
                                      : slice_mark::role::moment;
    return {role, name.empty() ? std::string_view(record.event->name) : name};
}

track_key track_key_of(const recording::record& record, const convention& fields) {
    // Threads have slices of their own, but count the same thing.
    const int own = fields.is_counter() ? record.process() : record.pid;
    return {
        .machine = record.distance,
        .event = record.event->id,
        .name = std::string(fields.track_name ? read(*fields.track_name, record.data).text() : ""),
        .scope = fields.scope ? read(*fields.scope, record.data).natural
                              : static_cast<std::uint64_t>(own),
        .has_slices = fields.is_slice(),
    };
}

const convention& track_table::convention_of(const recording::event_type& event) {
    return conventions_.try_emplace(event.id, event).first->second;
}

namespace {

/// The number that the process has here. Programs choose the scope, so the sum may overflow.
int process_of(std::uint64_t scope, const recording::record& record) {
    return static_cast<int>(static_cast<unsigned>(scope) + static_cast<unsigned>(record.distance));
}

} // namespace

track track_table::of(const recording::record& record, const convention& fields) {
    track_key key = track_key_of(record, fields);
    const auto found = tracks_.find(key);
    if (found != tracks_.end())
        return found->second;
    const bool is_of_process = fields.scope && fields.scope->name == "scope_tgid";
    track made{
        .number = next(),
        .name = key.name.empty() ? record.event->name : key.name,
        .process = is_of_process ? process_of(key.scope, record) : record.process(),
        .thread = fields.scope || fields.is_counter() ? 0 : record.pid,
        .is_own = !fields.scope && key.name.empty() && key.has_slices &&
                  threads_with_slices_.try_emplace(record.pid).second,
        .is_new = false,
    };
    tracks_.emplace(std::move(key), made);
    made.is_new = true;
    return made;
}

namespace {

/// A payload that describes itself says in its opcode what it begins or ends.
span_mark mark_of_payload(const recording::record& record) {
    constexpr std::uint8_t start = 1, stop = 2;
    const eventheader::shown_event shown = to_shown_event(record);
    span_mark result;
    if (shown.event.why_not.why != eventheader::reason::none)
        return result;
    if (shown.event.opcode == start)
        result.role = span_mark::role::begin;
    else if (shown.event.opcode == stop)
        result.role = span_mark::role::end;
    result.key.group = shown.name.provider;
    if (result.role != span_mark::role::none)
        append_name(result.name, shown);
    if (shown.event.activity.empty())
        (result.key.id = "thread ") += std::to_string(record.pid);
    else
        result.key.id = eventheader::activity_text(shown.event.activity);
    return result;
}

/// The name of what a pair of events begins and ends: "request" for request_begin.
std::string name_of(const pair& pair) {
    for (const std::string_view suffix : {"_begin", "_start", "_enter", "_entry"})
        if (pair.begin.ends_with(suffix) && pair.begin.size() > suffix.size())
            return pair.begin.substr(0, pair.begin.size() - suffix.size());
    return pair.begin;
}

pair to_pair(const std::string& text) {
    const std::size_t first = text.find(',');
    const std::size_t second = first == text.npos ? first : text.find(',', first + 1);
    if (second == text.npos || text.find(',', second + 1) != text.npos || first == 0 ||
        second == first + 1 || second + 1 == text.size())
        throw text::usage_error(fmt::format("--pair {} makes no sense", text),
                                "write it as BEGIN,END,KEY: two events, and a field of both");
    return {text.substr(0, first), text.substr(first + 1, second - first - 1),
            text.substr(second + 1)};
}

} // namespace

std::vector<pair> to_pairs(const std::vector<std::string>& texts) {
    std::vector<pair> result;
    result.reserve(texts.size());
    for (const std::string& text : texts)
        result.push_back(to_pair(text));
    return result;
}

span_rows::place span_rows::take(const span_key& key, int process) {
    const auto [at, is_new] = rows_.try_emplace({key.pair, key.group, process}, taken_.size());
    if (is_new)
        taken_.emplace_back();
    auto& lanes = taken_[at->second];
    const auto free = std::find(lanes.begin(), lanes.end(), false);
    const auto lane = static_cast<std::size_t>(free - lanes.begin());
    if (free == lanes.end())
        lanes.push_back(true);
    else
        *free = true;
    return {at->second, lane};
}

interpreter::interpreter(const std::vector<pair>& pairs) : pairs_(pairs) {
    for (const pair& pair : pairs)
        names_.push_back(name_of(pair));
}

interpreter::pair_side interpreter::side_of(const recording::event_type& event) const {
    const auto is = [&](const std::string& name) {
        return event.name == name || event.registered_name() == name;
    };
    for (std::size_t i = 0; i < pairs_.size(); i++) {
        const bool begins = is(pairs_[i].begin);
        const recording::field* const key =
            begins || is(pairs_[i].end) ? event.find(pairs_[i].key) : nullptr;
        if (key)
            return {i, begins, key};
    }
    return {};
}

span_mark interpreter::mark_of(const recording::record& record) {
    if (!pairs_.empty()) {
        const auto [at, is_new] = sides_.try_emplace(record.event->id);
        if (is_new)
            at->second = side_of(*record.event);
        if (const pair_side& side = at->second; side.key) {
            span_mark result{side.begins ? span_mark::role::begin : span_mark::role::end,
                             {side.pair, names_[side.pair], {}},
                             names_[side.pair]};
            append_json(result.key.id, *side.key, read(*side.key, record.data));
            return result;
        }
    }
    return record.event->is_described ? mark_of_payload(record) : span_mark();
}

void interpreter::interpret(const recording::record& record) {
    const span_mark mark = mark_of(record);
    const convention& fields = tracks_.convention_of(*record.event);
    if (mark.role == span_mark::role::begin)
        begin_span(record, mark);
    else if (mark.role == span_mark::role::end)
        end_span(record, mark);
    else if (fields.is_counter())
        add_counter(record, fields);
    else if (fields.is_slice())
        add_slice(record, fields);
    else
        add_moment(record, mark);
}

} // namespace tool::exporting
