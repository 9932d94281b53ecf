// SPDX-License-Identifier: GPL-2.0-or-later
// The payload in which the runtime of .NET writes an event. Together with the event's description,
// the payload becomes an event that can be shown.
#pragma once

#include "eventheader/show.hpp"
#include "eventpipe/metadata.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace tool::eventpipe {

/// The fields of the tracepoint. Each may have any value.
struct message {
    std::uint8_t version = 0;
    std::uint16_t id = 0;
    bytes extension = {};
    bytes payload = {};
};

/// What is in the extension.
struct labels {
    /// Whether it could be taken apart.
    bool is_valid = false;
    bool has_metadata = false;
    bytes metadata = {};
    /// 16 bytes each, or none.
    bytes activity = {};
    bytes related_activity = {};
};
labels to_labels(bytes extension) noexcept;

/// The version of the messages that are known.
inline constexpr std::uint8_t known_version = 1;

/// What is shown. Without a description, the names are not known. It refers to all arguments.
eventheader::shown_event to_shown_event(std::string_view tracepoint, const message& message,
                                        const description* description,
                                        const std::vector<std::string>& chosen) noexcept;

} // namespace tool::eventpipe
