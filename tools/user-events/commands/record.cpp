// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/flight_recorder.hpp"
#include "commands/record_options.hpp"
#include "commands/recorded_files.hpp"
#include "commands/recording_note.hpp"
#include "commands/recover.hpp"
#include "text/errors.hpp"
#include "text/output.hpp"
#include "tracing/child_process.hpp"
#include "tracing/events.hpp"
#include "tracing/file_limit.hpp"
#include "tracing/observation.hpp"
#include "tracing/signals.hpp"
#include "tracing/threads.hpp"
#include "tracing/trace_dat.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tool {

namespace {

/// Adds the patterns of other options, and the kernel's events that all of them name.
void add_patterns(const record_options& given, std::vector<tracing::pattern>& patterns,
                  tracing::trace_dat& file) {
    // Events of the kernel alone do not mean all user events besides.
    for (const auto& other : tracing::to_patterns(given.others))
        patterns.push_back(other);
    // What a trigger waits for is recorded, too.
    for (const auto& condition : given.stop_conditions()) {
        if (patterns.empty() && condition.pattern.is_for_user_events())
            continue;
        if (patterns.empty())
            patterns.emplace_back("*", std::string(tracing::all_groups));
        patterns.push_back(condition.pattern);
    }
    for (const auto& wanted : patterns)
        if (!wanted.is_for_user_events())
            for (const auto& name : tracing::events(wanted))
                file.kernel_events.push_back(name.system + "/" + name.event);
}

/// Removes the files of a recording that fails before it has begun.
struct files_until_begun {
    recorded_files& files;
    recording_note& note;
    bool has_begun = false;

    ~files_until_begun() {
        if (has_begun)
            return;
        files.remove();
        note.remove();
    }
};

/// Calls `update` every now and then, until it says that no more is wanted, or the user, the
/// program or the time ends the recording.
template <typename Update>
void repeat_until_end(const record_options& given, tracing::stop_signals& signals,
                      std::optional<tracing::child_process>& program, Update update) {
    using clock = std::chrono::steady_clock;
    constexpr int pause_ms = 50;
    const auto end = clock::now() + std::chrono::duration<double>(given.duration);
    bool is_last = false;
    do
        is_last = signals.wait(pause_ms) || (program && program->has_ended()) ||
                  (given.duration > 0 && clock::now() >= end);
    while (!update() && !is_last);
}

/// `started` is called when everything is in place. Returns the status of the program, as a shell
/// would; 0 if there is none, or if it was ended.
template <typename Started>
int record_events(const record_options& given, Started started) {
    tracing::trace_dat file{given.output, {}};
    auto wanted = given.live.wanted();
    add_patterns(given, wanted.patterns, file);
    tracing::require_output(given.output);
    tracing::stop_signals signals;
    recording_note note(given.output);
    note.refuse_interrupted();
    tracing::observation observation(given.live.from, given.live.buffer, tracing::clock::any);
    const auto& in = observation.in();
    if (in.is_mounted())
        file = tracing::describe(given.output, in);
    else
        tracing::remember_processes(in);
    recorded_files files(given, in, std::move(file), note);
    files_until_begun left{files, note};
    progress so_far(in);
    note.set_instance(in.name(), so_far.since(), files.first());
    observation.start(wanted);
    std::optional<flight_recorder> flight;
    if (given.waits())
        flight.emplace(given, in, files);
    auto program = given.live.start_program();
    started();
    left.has_begun = true;
    int status = 0;
    call_or_leave(given.output, observation, [&] {
        repeat_until_end(given, signals, program, [&] {
            observation.update();
            const bool is_complete = flight ? flight->take() : files.take();
            so_far.show(files.size());
            return is_complete;
        });
        status = program ? program->status() : 0;
        if (flight)
            return;
        if (!in.is_mounted())
            in.write("tracing_on", "0");
        const std::string names = files.finish();
        // With a note, what is left would be another recording.
        note.remove();
        files.remove();
        so_far.say_end(names);
    });
    if (flight) {
        note.remove();
        flight->finish();
    }
    observation.require_all();
    return status;
}

/// Runs the recording in another process, and returns when that has begun.
void record_in_background(const record_options& given) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        throw text::failure("cannot create a pipe");
    const pid_t child = fork();
    if (child < 0)
        throw text::failure(fmt::format("cannot start a process: {}", std::strerror(errno)));
    if (child == 0) {
        close(ends[0]);
        setsid();
        record_events(given, [&] {
            (void)!write(ends[1], "", 1);
            close(ends[1]);
            const int none = open("/dev/null", O_RDWR);
            for (int file = 0; file <= 2; file++)
                dup2(none, file);
        });
        return;
    }
    close(ends[1]);
    char begun = 0;
    const bool has_begun = read(ends[0], &begun, 1) == 1;
    close(ends[0]);
    if (!has_begun) {
        int status = 0;
        waitpid(child, &status, 0);
        // It has said why.
        throw text::silent_failure{WIFEXITED(status) && status ? WEXITSTATUS(status) : 1};
    }
    text::print(fmt::format("{}\n", child));
    text::say(fmt::format("recording to {} until: kill {}\n", given.output, child));
}

} // namespace

action record(arguments& with) {
    const auto given = std::make_shared<record_options>();
    given->declare(with);
    return [given] {
        given->check();
        tracing::raise_file_limit();
        if (given->recover)
            recover(given->output);
        else if (given->background)
            record_in_background(*given);
        else if (const int status = record_events(*given, [] {}))
            throw text::silent_failure{status};
    };
}

} // namespace tool
