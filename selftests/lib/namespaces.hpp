// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"
#include "text_file.hpp"

#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>

namespace selftest {

/// For a child: enters new namespaces (CLONE_NEWUSER, ...). Throws std::system_error.
inline void enter(int flags) {
    if (unshare(flags) != 0)
        throw_errno("unshare");
}

/// Maps the creator of the user namespace, who has the ID `outside` there, to root in it. Throws
/// std::system_error.
inline void map_to_root(uid_t outside) {
    // After a change of ids, a task does not own its files in /proc unless it is dumpable.
    if (prctl(PR_SET_DUMPABLE, 1) != 0)
        throw_errno("prctl");
    const std::string map = "0 " + std::to_string(outside) + " 1";
    expect(write_text("/proc/self/setgroups", "deny"), "setgroups");
    expect(write_text("/proc/self/uid_map", map), "uid_map");
    expect(write_text("/proc/self/gid_map", map), "gid_map");
}

} // namespace selftest
