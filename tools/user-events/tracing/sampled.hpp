// SPDX-License-Identifier: GPL-2.0-or-later
// Which events an instance records in part, by rules with `sample=1/N`.
#pragma once

#include "recording/sampled_list.hpp"
#include "tracing/tracefs.hpp"

#include <map>
#include <string>
#include <vector>

namespace tool::tracing {

/// Those of the events, by their systems, as the rules are now. The first rule for an event in an
/// instance counts.
recording::sampled_list find_sampled(const instance& in,
                                     const std::map<std::string, std::vector<std::string>>& events);

} // namespace tool::tracing
