// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/recording_note.hpp"
#include "text/errors.hpp"
#include "tracing/buffers.hpp"
#include "tracing/file_limit.hpp"
#include "tracing/parts.hpp"
#include "tracing/signals.hpp"
#include "tracing/trace_dat.hpp"
#include "tracing/tracefs.hpp"

#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>

namespace tool {

namespace {

/// What to do if a snapshot was not all written. What was read is in the files alone.
std::string remedy_for_snapshot(const std::string& output, const tracing::instance& in,
                                bool was_read) {
    const auto unread = fmt::format(
        "records that were not read yet are in {}, until the next snapshot", in.path("snapshot"));
    return was_read
               ? fmt::format("records that were read are in {0}.cpu0 and so on, until the next "
                             "recording of {0}: `{1}` makes a file of them; {2}",
                             output, tracing::restore_command(output), unread)
               : unread;
}

/// Moves the records of an instance into a file, by way of the kernel's snapshot of it.
void take_snapshot(const tracing::trace_dat& file, const tracing::instance& in) {
    in.write("snapshot", "1");
    std::optional<tracing::cpu_files> files;
    try {
        files.emplace(tracing::cpu_files::of_snapshot(in, file.path));
        files->take_rest(false);
        tracing::write_trace_dat(file, in, *files);
        files->remove();
    } catch (const text::failure& error) {
        const bool was_read = files && files->size() > 0;
        if (files && !was_read)
            files->remove();
        throw text::failure(error.what(), remedy_for_snapshot(file.path, in, was_read));
    }
}

} // namespace

action snapshot(arguments& with) {
    struct options {
        std::string instance;
        std::string output = "trace.dat";
    };
    const auto given = std::make_shared<options>();
    with.positional("INSTANCE", given->instance,
                    "an ftrace instance that records, a folder in /sys/kernel/tracing/instances");
    with.option("-o,--output", "FILE", given->output, "the file (default: trace.dat)");
    return [given] {
        // What has left the instance would be lost.
        const tracing::held_signals held;
        tracing::raise_file_limit();
        const auto in = tracing::instance::existing(given->instance);
        // All that can be wrong with the output, before the records leave the instance.
        tracing::require_output(given->output);
        recording_note note(given->output);
        note.refuse_interrupted();
        // The pages, and the file.
        constexpr unsigned copies = 2;
        const auto file = tracing::describe(given->output, in);
        tracing::require_space_for(in, note.path(), given->output, tracing::waiting_bytes(in),
                                   copies, tracing::head_size(file, in));
        tracing::set_aside_unfinished(given->output);
        take_snapshot(file, in);
        note.remove();
        in.write("snapshot", "0");
    };
}

} // namespace tool
