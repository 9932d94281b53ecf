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

    /// Throws text::usage_error or text::failure for what is no group. The groups outside of a
    /// container, where the instance is that is read, are not known inside.
    std::vector<tracing::pattern> read(const std::vector<std::string>& patterns,
                                       bool is_mounted = false) const {
        if (!name.empty() && name != tracing::all_groups && !is_mounted)
            tracing::require_group(name);
        return tracing::to_patterns(patterns, name);
    }
};

} // namespace tool
