// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/rules.hpp"

#include <algorithm>

namespace tool::tracing {

recording::sampled_list
find_sampled(const instance& in, const std::map<std::string, std::vector<std::string>>& events) {
    auto rules = rules_if_readable();
    // A rule with a trigger records nothing.
    std::erase_if(rules, [&](const listed_rule& rule) {
        return rule.options[rule::instance] != in.name() || !rule.trigger.empty() ||
               rule.applied() == 0;
    });
    recording::sampled_list result;
    for (const auto& of_system : events)
        for (const auto& name : of_system.second) {
            const event_name event{of_system.first, name};
            const auto first =
                std::find_if(rules.begin(), rules.end(),
                             [&](const listed_rule& rule) { return rule.is_for(event); });
            if (first != rules.end() && first->sampled_of() > 1)
                result[{event.system, event.event}] = first->sampled_of();
        }
    return result;
}

} // namespace tool::tracing
