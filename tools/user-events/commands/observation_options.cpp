// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/observation_options.hpp"

#include "recording/record.hpp"
#include "text/errors.hpp"

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
            .filter = filter,
            .choice = choice.read(),
            .programs = programs.read(),
            .has_providers = true};
}

observation_options::filtered_events observation_options::filtered(bool is_raw) const {
    filtered_events result{wanted(), std::nullopt};
    if (has_from() && !filter.empty())
        result.filter = recording::to_filter(filter);
    else if (!has_from() && !is_raw)
        result.filter = eventheader::filter::parse(filter);
    result.events.is_filter_shared = result.filter.has_value();
    result.events.is_filter_own = has_from() && result.filter.has_value();
    return result;
}

} // namespace tool
