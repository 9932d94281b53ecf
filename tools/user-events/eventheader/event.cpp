// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/event.hpp"

#include "eventheader/field.hpp"

namespace tool::eventheader {

namespace {

constexpr std::uint8_t flag_64_bit_pointers = 1;
constexpr std::uint8_t flag_little_endian = 2;
constexpr std::uint8_t flag_extensions = 4;
constexpr std::uint8_t known_flags = 7;

constexpr std::uint16_t another_follows = 0x8000;
constexpr std::uint16_t kind_metadata = 1;
constexpr std::uint16_t kind_activity = 2;

constexpr std::size_t activity_size = 16;
constexpr unsigned most_fields = 255;
/// The end of an empty name, and the encoding.
constexpr std::size_t smallest_description = 2;

reason take_header(event& to, cursor& from, std::uint8_t flags) noexcept {
    const bool is_complete = from.take(to.version) && from.take(to.id) && from.take(to.tag) &&
                             from.take(to.opcode) && from.take(to.level);
    if (!is_complete)
        return reason::header_cut_off;
    return flags & ~known_flags ? reason::unknown_flags : reason::none;
}

reason use_activity(event& to, bytes data) noexcept {
    if (!to.activity.empty())
        return reason::two_activities;
    if (data.size() != activity_size && data.size() != 2 * activity_size)
        return reason::activity_of_wrong_size;
    to.activity.data = data.first(activity_size);
    to.related_activity.data = data.subspan(activity_size);
    return reason::none;
}

reason use_extension(event& to, std::uint16_t kind, bytes data, cursor& metadata,
                     bool& has_metadata) noexcept {
    switch (kind) {
    case 0:
        return reason::extension_of_no_kind;
    case kind_metadata:
        if (has_metadata)
            return reason::two_metadata;
        has_metadata = true;
        metadata = cursor(data, to.is_big_endian);
        return reason::none;
    case kind_activity:
        return use_activity(to, data);
    default:
        return reason::none;
    }
}

reason take_extensions(event& to, cursor& from, cursor& metadata) noexcept {
    bool has_metadata = false;
    for (std::uint16_t kind = another_follows; kind & another_follows;) {
        std::uint16_t size = 0;
        bytes data;
        if (!from.take(size) || !from.take(kind) || !from.take(size, data))
            return reason::extension_cut_off;
        const auto number = static_cast<std::uint16_t>(kind & ~another_follows);
        if (const reason why = use_extension(to, number, data, metadata, has_metadata);
            why != reason::none)
            return why;
    }
    return has_metadata ? reason::none : reason::no_metadata;
}

reason take_event_name(event& to, cursor metadata) noexcept {
    bytes name;
    if (!metadata.take_terminated(1, name))
        return reason::no_end_of_event_name;
    to.name_and_attributes = to_text(name);
    to.descriptions = descriptions(metadata);
    return reason::none;
}

/// Descriptions that cannot be read are no reason to refuse the event: the fields before them are
/// shown.
reason count_fields(descriptions descriptions) noexcept {
    // Fewer bytes than that cannot have too many, and nearly no event has more.
    if (descriptions.rest().size() < smallest_description * (most_fields + 1))
        return reason::none;
    unsigned steps = most_descriptions;
    for (unsigned count = 0; !descriptions.is_at_end(); count++) {
        if (count == most_fields)
            return reason::too_many_fields;
        if (skip_fields(descriptions, 1, 0, steps) != reason::none)
            break;
    }
    return reason::none;
}

reason take_all(event& to, cursor& from, std::uint8_t flags) noexcept {
    reason why = take_header(to, from, flags);
    if (why == reason::none && !(flags & flag_extensions))
        why = reason::no_metadata;
    cursor metadata;
    if (why == reason::none)
        why = take_extensions(to, from, metadata);
    if (why == reason::none)
        why = take_event_name(to, metadata);
    if (why == reason::none)
        why = count_fields(to.descriptions);
    return why;
}

/// Where the name or attribute at the beginning ends: at a semicolon that is not one of two.
std::size_t end_of_part(std::string_view text) noexcept {
    for (std::size_t i = 0; i < text.size(); i++) {
        if (text[i] != ';')
            continue;
        if (text.substr(i + 1).starts_with(';'))
            i++;
        else
            return i;
    }
    return text.size();
}

} // namespace

event to_event(bytes payload, std::uint8_t most_padding) noexcept {
    event result{.payload = payload, .most_padding = most_padding};
    std::uint8_t flags = 0;
    cursor from(payload, false);
    reason why = reason::header_cut_off;
    if (from.take(flags)) {
        result.has_64_bit_pointers = flags & flag_64_bit_pointers;
        result.is_big_endian = !(flags & flag_little_endian);
        from = cursor(from.rest(), result.is_big_endian);
        why = take_all(result, from, flags);
    }
    result.values = from;
    if (why != reason::none)
        result.why_not = {why, payload};
    return result;
}

std::string_view name_of(const event& event) noexcept {
    return event.name_and_attributes.substr(0, end_of_part(event.name_and_attributes));
}

std::string_view take_attribute(std::string_view& attributes) noexcept {
    attributes.remove_prefix(attributes.empty() ? 0 : 1);
    const std::string_view result = attributes.substr(0, end_of_part(attributes));
    attributes.remove_prefix(result.size());
    return result;
}

void append_unescaped(std::string& to, std::string_view part) {
    if (part.find(';') == part.npos) {
        to += part;
        return;
    }
    for (std::size_t i = 0; i < part.size(); i++) {
        to += part[i];
        if (part.substr(i).starts_with(";;"))
            i++;
    }
}

} // namespace tool::eventheader
