// SPDX-License-Identifier: GPL-2.0-or-later
// The types of events that records refer to by number.
#pragma once

#include "recording/event_type.hpp"
#include "tracing/events.hpp"

#include <functional>
#include <map>
#include <memory>

namespace tool::tracing {

class event_types {
public:
    /// `change` may change a type before it is used.
    explicit event_types(std::function<void(recording::event_type&)> change = {})
        : change_(std::move(change)) {}
    /// For a user who may read only the files of this instance.
    explicit event_types(const instance& in) : formats_(in) {}

    /// Returns null, after a warning the first time, if the event was removed. The result exists as
    /// long as this object.
    const recording::event_type* find(int id);

private:
    std::function<void(recording::event_type&)> change_;
    formats formats_;
    std::map<int, std::unique_ptr<recording::event_type>> known_;
};

} // namespace tool::tracing
