// SPDX-License-Identifier: GPL-2.0-or-later
// Which programs are recorded.
#pragma once

#include "tracing/rule.hpp"

#include <string>
#include <vector>

namespace tool::tracing {

/// The programs whose records are wanted: those for which all that is given is true, or all
/// programs. If the scope becomes options of a rule, the kernel sets the bits of these programs
/// alone. ftrace's set_event_pid, which needs no rules, finds records of other programs when they
/// are made, and drops them.
struct scope {
    /// Numbers of processes and of users: one of each has to match.
    std::vector<std::string> pids;
    std::vector<std::string> uids;
    /// Globs and a path, as in a rule; empty ones match everything.
    std::string comm;
    std::string exe;
    std::string cgroup;
    /// Whether the children that the processes will have are meant, too. Rules cannot do that.
    bool has_children = false;

    bool is_all() const noexcept { return pids.empty() && !is_for_rules_only(); }
    /// Whether set_event_pid cannot find these programs.
    bool is_for_rules_only() const noexcept {
        return !uids.empty() || !comm.empty() || !exe.empty() || !cgroup.empty();
    }
    /// Limits the rule to these programs.
    void limit(rule& to) const;
    /// Throws text::failure if one of the processes does not exist. Warns if there is no such
    /// control group so far: for a path that is mistyped, the command would wait silently.
    void require() const;
};

/// Where the control groups of version 2 are; empty if they are nowhere.
const std::string& cgroup_mount_point();

} // namespace tool::tracing
