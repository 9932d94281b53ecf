// SPDX-License-Identifier: GPL-2.0-or-later
// The fields of a command such as `order u32 number; __rel_loc char[] item`, and payloads for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct tep_event;

namespace tool::tracing {

struct command_field {
    enum kind_of { number, real, text, bytes };
    enum place_of { inside, after_field, after_start };

    std::string type;
    std::string name;
    std::size_t size;
    kind_of kind;
    place_of place;
    bool is_signed;
};

/// A command, parsed. The kernel checks it; this only finds out what values may be.
class event_command {
public:
    /// Throws text::usage_error if there is a type that is not known.
    explicit event_command(std::string text);
    /// The command with which the event was registered.
    static event_command of(const tep_event& event);

    const std::string& text() const noexcept { return text_; }
    const std::vector<command_field>& fields() const noexcept { return fields_; }

    /// The payload of `FIELD=VALUE`, one for each field. Throws text::usage_error if one is
    /// missing, unknown or not of the field's type.
    std::vector<std::byte> payload(const std::vector<std::string>& values) const;

private:
    std::string text_;
    std::vector<command_field> fields_;
};

} // namespace tool::tracing
