// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/selector.hpp"

#include "text/errors.hpp"

namespace tool::tracing {

const selector::selected& selector::selected_of(const recording::event_type& type) {
    const auto [at, is_new] = selected_.try_emplace(type.id);
    if (is_new) {
        const event_name name{type.system, type.name};
        at->second = {
            .is_possible = wanted_.includes(name),
            .is_by_name = !wanted_.patterns.empty() && !matches_any(wanted_.patterns, name),
            .is_filtered = filter_ && wanted_.is_filtered_by_caller(type.registered_name())};
    }
    return at->second;
}

bool selector::includes(const recording::record& record) {
    const selected& selected = selected_of(*record.event);
    if (!selected.is_possible)
        return false;
    if (selected.is_by_name &&
        !wanted_.matches({record.event->system, record.event->name}, described_name(record)))
        return false;
    if (!selected.is_filtered)
        return true;
    has_filtered_ = true;
    return passes(*filter_, record);
}

void selector::warn_of_unknown_fields() const {
    if (has_filtered_)
        recording::warn_of_unknown_fields(*filter_);
}

} // namespace tool::tracing
