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

action delete_events(arguments& with) {
    const auto given = std::make_shared<std::vector<std::string>>();
    with.required_positionals("PATTERN", *given, "events, such as order_placed or 'order_*'");
    return [given] {
        const tracing::instance top = tracing::instance::top();
        for (const auto& wanted : tracing::to_patterns(*given)) {
            int deleted = 0;
            for (const auto& name : tracing::user_events({wanted})) {
                if (name.system == "user_mark")
                    continue;
                deleted++;
                int error = top.try_append("dynamic_events",
                                           fmt::format("-:{}/{}\n", name.system, name.event));
                // The kernel's own user_events, without groups, does not take a name without its
                // fields there.
                if (error == ENOENT && recording::is_system_of(name.system, "default"))
                    error = tracing::data_file().try_delete(name.event);
                if (error)
                    throw text::failure(
                        fmt::format("cannot delete {}: {}", name.event, std::strerror(error)),
                        error == EBUSY
                            ? "a program has registered it or it is enabled: `user-events "
                              "list` tells; then `user-events disable`"
                            : text::remedy_for(error, top.path("dynamic_events")));
            }
            if (deleted == 0)
                tracing::throw_no_event(wanted, "`user-events list` lists the events");
        }
    };
}

} // namespace tool
