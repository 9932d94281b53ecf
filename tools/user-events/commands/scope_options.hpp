// SPDX-License-Identifier: GPL-2.0-or-later
// The options that say which programs are recorded: --pid, --comm, --exe, --cgroup, --uid,
// --children.
#pragma once

#include "cli.hpp"
#include "tracing/scope.hpp"

#include <string>
#include <vector>

namespace tool {

class scope_options {
public:
    void declare(arguments& with);
    /// Throws text::usage_error for values that make no sense.
    tracing::scope read() const;

private:
    std::vector<std::string> pids_;
    std::vector<std::string> comms_;
    std::vector<std::string> exes_;
    std::vector<std::string> cgroups_;
    std::vector<std::string> uids_;
    bool children_ = false;
};

} // namespace tool
