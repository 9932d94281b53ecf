// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "tracing/data_file.hpp"
#include "tracing/events.hpp"
#include "tracing/payload.hpp"

#include <fmt/format.h>
#include <memory>

namespace tool {

namespace {

struct options {
    std::string event;
    std::vector<std::string> values;
};

/// A name with fields declares the event. Otherwise its format has them, if there is one.
tracing::event_command command_of(const std::string& event, bool has_values) {
    if (event.find_first_of(" \t") != event.npos)
        return tracing::event_command(event);
    tracing::formats formats;
    if (const tep_event* const format = formats.find({recording::one_format_system, event}))
        return tracing::event_command::of(*format);
    if (!has_values)
        return tracing::event_command(event);
    throw text::failure(
        fmt::format("there is no event {}", event),
        fmt::format("give its fields: user-events write '{} u32 FIELD' FIELD=1", event));
}

} // namespace

action write_event(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positional("EVENT", given->event,
                    "the name of an event, or 'NAME FIELDS' to create it for this record");
    with.positionals("VALUE", given->values,
                     "FIELD=VALUE for each field; bytes as hexadecimal digits");
    return [given] {
        const tracing::event_command command = command_of(given->event, !given->values.empty());
        const auto payload = command.payload(given->values);
        tracing::data_file file;
        file.write(file.add(command.text(), false), payload);
    };
}

} // namespace tool
