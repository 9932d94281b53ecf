// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/observation_options.hpp"

#include "recording/record.hpp"
#include "text/errors.hpp"

#include <utility>

namespace tool {

void observation_options::declare_patterns(arguments& with, const char* help) {
    with.positionals("PATTERN", patterns, help);
    group.declare(with);
}

void observation_options::declare_from(arguments& with) {
    with.option("--from", "DIR", from,
                "read the records of the ftrace instance that is mounted in this directory");
}

void observation_options::declare_filter(arguments& with, const char* help) {
    with.option("-f,--filter", "FILTER", filter, help);
}

void observation_options::declare_choice(arguments& with) {
    choice.declare(with);
    programs.declare(with);
}

void observation_options::declare_buffer(arguments& with) {
    with.size("--buffer", buffer, "the size of each CPU's buffer (default: 4M)");
}

void observation_options::declare_program(arguments& with) {
    with.program(program, "run this program, and end with it");
}

std::optional<tracing::child_process> observation_options::start_program() const {
    if (program.empty())
        return std::nullopt;
    return std::optional<tracing::child_process>(std::in_place, program);
}

void observation_options::require_alone() const {
    const bool is_for_all = programs.read().is_all();
    if (!has_from())
        return;
    if (!is_for_all)
        throw text::usage_error("--from excludes --pid, --comm, --exe, --cgroup and --uid",
                                "--filter 'COMM == \"shop\"' chooses records");
    if (buffer != usual_buffer)
        throw text::usage_error(
            "--from excludes --buffer",
            "an administrator can change the size: echo KILOBYTES >INSTANCE/buffer_size_kb");
}

tracing::wanted_events observation_options::wanted() const {
    return {.patterns = group.read(patterns, has_from()),
            .filter = recording::to_kernel_filter(filter),
            .choice = choice.read(),
            .programs = programs.read(),
            .has_providers = true};
}

observation_options::filtered_events observation_options::filtered(bool is_raw) const {
    if (filter.empty())
        return {wanted(), std::nullopt};
    auto parsed = recording::to_filter(filter);
    const bool is_own = has_from() || parsed.kernel_text().empty();
    observation_options of_kernel = *this;
    if (is_own)
        of_kernel.filter.clear();
    filtered_events result{of_kernel.wanted(), std::nullopt};
    result.events.is_filter_own = is_own;
    result.events.is_filter_shared = is_own || !is_raw;
    if (result.events.is_filter_shared)
        result.filter = std::move(parsed);
    return result;
}

} // namespace tool
