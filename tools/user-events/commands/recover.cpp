// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/recover.hpp"

#include "commands/recording_note.hpp"
#include "text/errors.hpp"
#include "tracing/buffers.hpp"
#include "tracing/mounted.hpp"
#include "tracing/parts.hpp"
#include "tracing/rules.hpp"
#include "tracing/trace_dat.hpp"
#include "tracing/tracefs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fmt/format.h>
#include <unistd.h>

namespace tool {

namespace {

/// Finishes the parts but the last one, whose number is returned; 0 if there are no parts.
std::uint64_t recover_parts(const std::string& output, std::uint64_t first,
                            const tracing::instance& in) {
    if (first == 0)
        return 0;
    const auto complete = tracing::part_numbers(output);
    auto left = tracing::part_numbers(output, ".cpu");
    // A part is complete when it has its name. Older ones are not of this recording.
    std::erase_if(left, [&](std::uint64_t number) {
        const bool is_complete = std::binary_search(complete.begin(), complete.end(), number);
        if (is_complete)
            tracing::remove_unfinished(output, number);
        return is_complete || number < first;
    });
    if (left.empty())
        left.push_back(complete.empty() ? first : std::max(first, complete.back() + 1));
    for (std::size_t i = 0; i + 1 < left.size(); i++) {
        const auto path = tracing::part_name(output, left[i]);
        tracing::cpu_files files(in, path, true);
        write_trace_dat(tracing::describe(path, in), in, files);
        files.remove();
    }
    return left.back();
}

/// Makes the last file of what was taken, and of the rest of the instance. Returns how many records
/// were killed.
std::uint64_t recover_last(const std::string& path, std::uint64_t number, recording_note& note,
                           const tracing::instance& in) {
    tracing::cpu_files files(in, path, true);
    const auto killed = note.killed(tracing::read_records(in), number, files);
    files.take_rest(in.is_mounted());
    write_trace_dat(tracing::describe(path, in), in, files);
    // With a note, what is left would be another recording.
    note.remove();
    files.remove();
    return killed;
}

} // namespace

void call_or_leave(const std::string& output, tracing::observation& observation,
                   const std::function<void()>& function) {
    const auto fail = [&](const text::failure& error, const char* remedy) {
        observation.leave();
        throw text::failure(error.what(), fmt::format("{}, then finish the recording: user-events "
                                                      "record --recover -o {}",
                                                      remedy, output));
    };
    try {
        function();
    } catch (const text::system_failure& error) {
        fail(error, error.error() == ENOSPC ? "free some space" : "remove the cause");
    } catch (const text::failure& error) {
        fail(error, "remove the cause");
    } catch (...) {
        observation.leave();
        throw;
    }
}

void recover(const std::string& output) {
    const auto none = [&] {
        return text::failure(fmt::format("there is no interrupted recording {}", output),
                             "name its file with -o");
    };
    if (access((output + ".recording").c_str(), F_OK) != 0)
        throw none();
    recording_note note(output);
    const std::string name = note.instance();
    if (name.empty())
        throw none();
    // After a reboot it can be of another command.
    if (!note.is_mounted() && tracing::is_in_use(name))
        throw text::failure(
            fmt::format("the instance {} is of a process that still runs", name),
            fmt::format("if the system was booted after the recording, remove {}.recording, and "
                        "`{}` makes a file of the records; else end that process",
                        output, tracing::restore_command(output)));
    {
        tracing::observation observation(note.is_mounted()
                                             ? tracing::open_mounted(name, tracing::clock::any)
                                             : tracing::instance::existing(name));
        const auto& in = observation.in();
        const progress whole(in, note.since());
        call_or_leave(output, observation, [&] {
            if (!in.is_mounted())
                in.write("tracing_on", "0");
            const auto number = recover_parts(output, note.first_part(), in);
            const auto path = number ? tracing::part_name(output, number) : output;
            whole.say_end(path, recover_last(path, number, note, in));
        });
    }
    if (name.starts_with(tracing::temporary_prefix)) {
        tracing::remove_rules_of(name);
        tracing::instance::remove_left(name);
    }
}

} // namespace tool
