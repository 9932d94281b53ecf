// SPDX-License-Identifier: GPL-2.0-or-later
// The option --group of commands that are about events that exist, or will.
#pragma once

#include "cli.hpp"
#include "tracing/groups.hpp"

#include <string>
#include <vector>

namespace tool {

struct group_option {
    std::string name;

    void declare(arguments& with) {
        with.option("--group", "EVENT-GROUP", name,
                    "a PATTERN without SYSTEM means events of this group; '*': of all groups");
    }

    /// Throws text::usage_error for what makes no sense. The group need not exist.
    std::vector<tracing::pattern> check(const std::vector<std::string>& patterns) const {
        if (has_name())
            tracing::check_name_of_group(name);
        return tracing::to_patterns(patterns, name);
    }

    /// The same; throws text::failure if there is no such group. With `is_mounted`, the group is
    /// not looked for: the instance may be of the machine outside of this container, whose groups
    /// are not known here.
    std::vector<tracing::pattern> read(const std::vector<std::string>& patterns,
                                       bool is_mounted = false) const {
        auto result = check(patterns);
        if (has_name() && !is_mounted)
            tracing::require_group(name);
        return result;
    }

private:
    bool has_name() const { return !name.empty() && name != tracing::all_groups; }
};

} // namespace tool
