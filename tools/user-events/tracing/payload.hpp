// SPDX-License-Identifier: GPL-2.0-or-later
// The fields of a command such as `order u32 number; __rel_loc char[] item`, and payloads for them.
#pragma once

#include "recording/event_type.hpp"

#include <cstddef>
#include <string>
#include <vector>

struct tep_event;

namespace tool::tracing {

/// A command, parsed. The kernel checks it; this only finds out what values may be.
class event_command {
public:
    /// Throws text::usage_error if there is a type that is not known.
    explicit event_command(std::string text);
    /// The command with which the event was registered.
    static event_command of(const tep_event& event);

    const std::string& text() const noexcept { return text_; }

    /// The payload of `FIELD=VALUE`, one for each field. Throws text::usage_error if one is
    /// missing, unknown or not of the field's type.
    std::vector<std::byte> payload(const std::vector<std::string>& values) const;

private:
    std::string text_;
    std::vector<recording::field> fields_;
};

} // namespace tool::tracing
