// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "recording/event_type.hpp"
#include "text/errors.hpp"
#include "tracing/data_file.hpp"
#include "tracing/events.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <memory>

namespace tool {

namespace {

/// Whether the kernel takes the end of the name for a comment in a line of dynamic_events.
bool has_comment(const tracing::event_name& name) {
    return name.event.find('#') != name.event.npos;
}

/// Deletes the event of exactly this name. Returns 0 or an errno.
int try_delete(const tracing::event_name& name) {
    int error = ENOENT;
    // A line with only the beginning of the name would delete other events.
    if (!has_comment(name))
        error = tracing::instance::top().try_append(
            "dynamic_events", fmt::format("-:{}/{}\n", name.system, name.event));
    // The kernel's own user_events, without groups, does not take a name without its fields there.
    if (error == ENOENT && recording::is_system_of(name.system, "default"))
        error = tracing::try_delete(name.event);
    return error;
}

std::string remedy_for(int error, const tracing::event_name& name) {
    if (error == EBUSY)
        return "a program has registered it or it is enabled: `user-events list` tells; then "
               "`user-events disable`";
    if (error == ENOENT && has_comment(name))
        return "the kernel takes its # for the beginning of a comment; a program can delete it "
               "with DIAG_IOCSDEL";
    return text::remedy_for(error, tracing::instance::top().path("dynamic_events"));
}

} // namespace

action delete_events(arguments& with) {
    const auto given = std::make_shared<std::vector<std::string>>();
    with.required_positionals("PATTERN", *given, "events, such as order_placed or 'order_*'");
    return [given] {
        for (const auto& wanted : tracing::to_patterns(*given)) {
            int deleted = 0;
            for (const auto& name : tracing::user_events({wanted})) {
                if (name.system == "user_mark")
                    continue;
                deleted++;
                if (const int error = try_delete(name))
                    throw text::failure(
                        fmt::format("cannot delete {}: {}", name.event, std::strerror(error)),
                        remedy_for(error, name));
            }
            if (deleted == 0)
                tracing::throw_no_event(wanted, "`user-events list` lists the events");
        }
    };
}

} // namespace tool
