// SPDX-License-Identifier: GPL-2.0-or-later
// The options of record.
#pragma once

#include "commands/observation_options.hpp"
#include "tracing/stacks.hpp"
#include "tracing/stop_triggers.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tool {

struct record_options {
    observation_options live;
    std::string output = "trace.dat";
    std::vector<std::string> others;
    double duration = 0;
    std::uint64_t size = 0;
    double time = 0;
    std::string keep;
    std::vector<std::string> on;
    double last = 0;
    std::string stack = "none";
    bool background = false;
    bool recover = false;

    void declare(arguments& with);
    /// Throws text::usage_error for values that make no sense, also with each other.
    void check() const;

    /// Whether the recording is in parts.
    bool has_parts() const noexcept { return time > 0 || !keep.empty(); }
    /// How many parts stay.
    std::uint64_t kept_parts() const;
    /// Whether nothing is written until one of the conditions of --on is fulfilled.
    bool waits() const noexcept { return !on.empty(); }
    std::vector<tracing::stop_condition> stop_conditions() const;
    tracing::wanted_stacks wanted_stacks() const {
        return {.is_user = stack == "user" || stack == "both",
                .is_kernel = stack == "kernel" || stack == "both"};
    }
};

} // namespace tool
