// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventpipe/message.hpp"

namespace tool::eventpipe {

namespace {

using eventheader::cursor;
using eventheader::reason;

constexpr std::uint8_t label_metadata = 1;
constexpr std::uint8_t label_activity = 2;
constexpr std::uint8_t label_related = 3;
constexpr std::size_t activity_size = 16;

bool take_label(cursor& from, labels& to) noexcept {
    std::uint8_t label = 0;
    bytes size;
    if (!from.take(label))
        return false;
    switch (label) {
    case label_metadata:
        to.has_metadata = true;
        return from.take(4, size) && from.take(eventheader::to_number(size, false), to.metadata);
    case label_activity:
        return from.take(activity_size, to.activity);
    case label_related:
        return from.take(activity_size, to.related_activity);
    default:
        return false;
    }
}

reason why_not(const message& message, const labels& labels, const description* description) {
    if (message.version != known_version)
        return reason::unknown_version;
    if (!labels.is_valid)
        return reason::malformed_extension;
    return description ? reason::none : reason::names_not_known;
}

} // namespace

labels to_labels(bytes extension) noexcept {
    labels result;
    cursor from(extension, false);
    while (!from.is_at_end())
        if (!take_label(from, result))
            return {};
    result.is_valid = true;
    return result;
}

eventheader::shown_event to_shown_event(std::string_view tracepoint, const message& message,
                                        const description* description,
                                        const std::vector<std::string>& chosen) noexcept {
    const labels labels = to_labels(message.extension);
    eventheader::event event{.payload = message.payload,
                             .id = message.id,
                             .activity = {labels.activity, true},
                             .related_activity = {labels.related_activity, true},
                             .values = cursor(message.payload, false)};
    eventheader::tracepoint_name name{.provider = tracepoint};
    if (description) {
        event.version = description->version;
        event.opcode = description->opcode;
        event.level = description->level;
        event.name_and_attributes = description->name;
        event.descriptions = eventheader::descriptions(description->fields);
        name.provider = description->provider;
        name.keyword = description->keyword;
    }
    if (const reason why = why_not(message, labels, description); why != reason::none)
        event.why_not = {why,
                         why == reason::malformed_extension ? message.extension : message.payload};
    return {tracepoint, name, event, chosen};
}

} // namespace tool::eventpipe
