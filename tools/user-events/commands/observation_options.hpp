// SPDX-License-Identifier: GPL-2.0-or-later
// The options of commands that read or keep what programs record now: PATTERN, --group, --from,
// --filter, --level, --keyword, --pid and so on, --buffer.
#pragma once

#include "commands/choice_options.hpp"
#include "commands/group_option.hpp"
#include "commands/scope_options.hpp"
#include "eventheader/payload_filter.hpp"
#include "tracing/child_process.hpp"
#include "tracing/following.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

struct observation_options {
    std::vector<std::string> patterns;
    group_option group;
    /// Where an instance is mounted; empty for one of the command's own.
    std::string from;
    std::string filter;
    choice_options choice;
    scope_options programs;
    std::uint64_t buffer = usual_buffer;
    std::vector<std::string> program;

    static constexpr std::uint64_t usual_buffer = 4 << 20;

    /// PATTERN and --group.
    void declare_patterns(arguments& with,
                          const char* help = "events, such as 'order_*', 'sched:sched_switch' or "
                                             "'MyProvider:Request*'; without it, all user events");
    void declare_from(arguments& with);
    void
    declare_filter(arguments& with,
                   const char* help = "only records for which this is true, such as 'cents > 300'");
    /// --level, --keyword, --pid and so on.
    void declare_choice(arguments& with);
    void declare_buffer(arguments& with);
    /// `-- PROGRAM`, with which the command ends.
    void declare_program(arguments& with);
    /// Nothing if none was given.
    std::optional<tracing::child_process> start_program() const;

    bool has_from() const noexcept { return !from.empty(); }
    /// With --from, throws text::usage_error if an option is given that says which programs are
    /// recorded, or how large the buffers are.
    void require_alone() const;

    /// What is wanted, with a filter for the kernel alone. Throws text::failure.
    tracing::wanted_events wanted() const;

    struct filtered_events {
        tracing::wanted_events events;
        /// What the kernel cannot apply.
        std::optional<eventheader::filter> filter;
    };
    /// The same for a command that filters records itself: those whose payloads describe themselves
    /// (unless `is_raw`), and all records of --from.
    filtered_events filtered(bool is_raw = false) const;
};

} // namespace tool
