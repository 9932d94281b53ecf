// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/event_types.hpp"

#include "text/errors.hpp"

#include <fmt/format.h>

namespace tool::tracing {

const recording::event_type* event_types::find(int id) {
    if (const auto found = known_.find(id); found != known_.end())
        return found->second.get();
    const tep_event* const event = formats_.find(id);
    // It was removed, so its format is lost.
    if (!event) {
        text::warn(fmt::format("there are records of the event {}, which was removed", id));
        return (known_[id] = nullptr).get();
    }
    auto type = std::make_unique<recording::event_type>(*event);
    if (change_)
        change_(*type);
    return (known_[id] = std::move(type)).get();
}

} // namespace tool::tracing
