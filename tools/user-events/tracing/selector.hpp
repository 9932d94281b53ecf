// SPDX-License-Identifier: GPL-2.0-or-later
// Which live records are wanted, as far as only their payloads say so.
#pragma once

#include "eventheader/payload_filter.hpp"
#include "recording/record.hpp"
#include "tracing/following.hpp"

#include <optional>
#include <unordered_map>

namespace tool::tracing {

/// For the records of an instance in which `following` enables what is wanted.
class selector {
public:
    /// `wanted` has to exist as long as the object. `filter` is wanted.filter, parsed, for records
    /// that the kernel does not filter.
    selector(const wanted_events& wanted, std::optional<eventheader::filter> filter)
        : wanted_(wanted), filter_(std::move(filter)) {}

    /// Whether records of this type may be wanted.
    bool may_include(const recording::event_type& type) { return selected_of(type).is_possible; }
    bool includes(const recording::record& record);

    /// For the end: a field that is mistyped would silently choose no record.
    void warn_of_unknown_fields() const;

private:
    struct selected {
        bool is_possible;
        /// Whether the event's name in the payload matters.
        bool is_by_name;
        bool is_filtered;
    };
    const selected& selected_of(const recording::event_type& type);

    const wanted_events& wanted_;
    std::optional<eventheader::filter> filter_;
    std::unordered_map<int, selected> selected_;
    bool has_filtered_ = false;
};

} // namespace tool::tracing
