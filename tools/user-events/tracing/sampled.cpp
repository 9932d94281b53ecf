// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/sampled.hpp"

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
    for (const auto& [system, names] : events)
        for (const auto& name : names) {
            const auto first =
                std::find_if(rules.begin(), rules.end(), [&](const listed_rule& rule) {
                    return rule.is_for({system, name});
                });
            if (first != rules.end() && first->sampled_of() > 1)
                result[{system, name}] = first->sampled_of();
        }
    return result;
}

} // namespace tool::tracing
