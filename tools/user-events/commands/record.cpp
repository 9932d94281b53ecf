// SPDX-License-Identifier: GPL-2.0-only
#include "commands/commands.hpp"
#include "text/errors.hpp"
#include "text/output.hpp"
#include "text/quantity.hpp"
#include "tracing/events.hpp"
#include "tracing/following.hpp"
#include "tracing/live_reader.hpp"
#include "tracing/rules.hpp"
#include "tracing/signals.hpp"
#include "tracing/threads.hpp"
#include "tracing/trace_dat.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>

namespace tool {

namespace {

using clock = std::chrono::steady_clock;

struct options {
    std::string output = "trace.dat";
    std::vector<std::string> patterns;
    std::vector<std::string> others;
    std::vector<std::string> pids;
    std::vector<std::string> program;
    std::string filter;
    double duration = 0;
    std::uint64_t size = 0;
    std::uint64_t buffer = 4 << 20;
    bool background = false;
    bool recover = false;
};

constexpr int pause_ms = 50;

/// The name of this file says which instance records; --recover reads it.
std::string note_of(const std::string& output) {
    return output + ".recording";
}

/// The program after `--`. It is ended if the object goes before it has ended.
class program {
public:
    explicit program(const std::vector<std::string>& words) {
        if (words.empty())
            return;
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            throw text::failure("cannot create a pipe");
        id_ = fork();
        int error = id_ < 0 ? errno : 0;
        if (id_ == 0) {
            tracing::stop_signals::restore();
            std::signal(SIGPIPE, SIG_DFL);
            std::vector<char*> arguments;
            arguments.reserve(words.size() + 1);
            for (const auto& word : words)
                arguments.push_back(const_cast<char*>(word.c_str()));
            arguments.push_back(nullptr);
            execvp(arguments[0], arguments.data());
            error = errno;
            (void)!write(ends[1], &error, sizeof(error));
            _exit(127);
        }
        close(ends[1]);
        const bool failed = id_ < 0 || read(ends[0], &error, sizeof(error)) == sizeof(error);
        close(ends[0]);
        // Until it has ended, it has the instance's files open.
        if (failed && id_ > 0)
            waitpid(id_, nullptr, 0);
        if (failed)
            throw text::failure(fmt::format("cannot run {}: {}", words[0], std::strerror(error)));
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    ~program() {
        if (id_ > 0 && !ended_) {
            kill(id_, SIGTERM);
            waitpid(id_, nullptr, 0);
        }
    }

    bool has_ended() {
        ended_ = ended_ || (id_ > 0 && waitpid(id_, nullptr, WNOHANG) == id_);
        return ended_;
    }

private:
    pid_t id_ = 0;
    bool ended_ = false;
};

/// Patterns of both kinds, and the formats that they need.
std::vector<tracing::pattern> patterns_of(const options& given, tracing::trace_dat& file) {
    auto patterns = tracing::to_patterns(given.patterns);
    // Events of the kernel alone do not mean all user events besides.
    for (const auto& other : tracing::to_patterns(given.others))
        patterns.push_back(other);
    file.formats = {"user_events/*", "user_events_multi/*", "user_mark/*"};
    for (const auto& wanted : patterns)
        if (!wanted.is_for_user_events())
            for (const auto& name : tracing::events(wanted)) {
                file.formats.push_back(name.system + "/" + name.event);
                file.has_kernel_events = true;
            }
    return patterns;
}

/// The formats of what an instance records at present, and of all user events.
std::vector<std::string> formats_of(const tracing::instance& in) {
    std::vector<std::string> result{"user_events/*", "user_events_multi/*", "user_mark/*"};
    for (const auto& system : tracing::directories(in.path("events")))
        // X: some are enabled, some are not.
        if (const auto some = in.try_read(fmt::format("events/{}/enable", system)).value_or("0");
            some[0] == '1' || some[0] == 'X')
            for (const auto& event :
                 tracing::directories(in.path(fmt::format("events/{}", system))))
                if (in.try_read(fmt::format("events/{}/{}/enable", system, event))
                        .value_or("0")[0] == '1')
                    result.push_back(fmt::format("{}/{}", system, event));
    return result;
}

/// Records that were taken and that are still in the buffers.
std::uint64_t recorded(const tracing::instance& in) {
    std::uint64_t result = 0;
    for (const auto& cpu : tracing::directories(in.path("per_cpu"))) {
        const std::string stats = in.try_read("per_cpu/" + cpu + "/stats").value_or("");
        for (const std::string_view name : {"entries: ", "read events: "})
            if (const auto at = stats.find(name); at != stats.npos)
                result += std::strtoull(stats.c_str() + at + name.size(), nullptr, 10);
    }
    return result;
}

/// Goes back to the beginning of the terminal's line, and clears the line.
const char* same_line() {
    static const bool is_terminal = isatty(STDERR_FILENO);
    return is_terminal ? "\r\x1b[K" : "";
}

void show_progress(const tracing::cpu_files& files, const tracing::instance& in) {
    static auto next = clock::now();
    if (!*same_line() || clock::now() < next)
        return;
    next = clock::now() + std::chrono::milliseconds(500);
    fmt::print(stderr, "{}{} records, {}, {} lost", same_line(), recorded(in),
               text::from_bytes(files.size()), tracing::lost_records(in));
}

void finish(const tracing::trace_dat& file, const tracing::instance& in,
            tracing::cpu_files& files) {
    in.write("tracing_on", "0");
    files.take_rest();
    tracing::write_trace_dat(file, in, files);
    files.remove();
    unlink(note_of(file.path).c_str());
    const auto lost = tracing::lost_records(in);
    fmt::print(stderr, "{}{}: {} records, {} lost\n", same_line(), file.path, recorded(in), lost);
    if (lost)
        text::warn("--buffer makes the buffers larger; --filter and --pid have fewer records");
}

/// `started` is called when everything is in place.
template <typename Started>
void record_events(const options& given, Started started) {
    tracing::trace_dat file{given.output, {}, false};
    const auto patterns = patterns_of(given, file);
    tracing::stop_signals signals;
    const auto in = tracing::instance::temporary("mono");
    tracing::set_buffer_size(in, given.buffer);
    tracing::remember_processes(in);
    if (!given.pids.empty())
        tracing::record_only(in, given.pids);
    tracing::cpu_files files(in, given.output, false);
    std::ofstream(note_of(given.output)) << in.name() << "\n";
    tracing::following following(in, patterns, given.filter);
    in.write("tracing_on", "1");
    const auto end = clock::now() + std::chrono::duration<double>(given.duration);
    program program(given.program);
    started();
    bool ended = false;
    do {
        ended = signals.wait(pause_ms) || program.has_ended() ||
                (given.duration > 0 && clock::now() >= end);
        following.update();
        files.take();
        show_progress(files, in);
    } while (!ended && (given.size == 0 || files.size() < given.size));
    finish(file, in, files);
}

/// Runs the recording in another process, and returns when that has begun.
void record_in_background(const options& given) {
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
        waitpid(child, nullptr, 0);
        // It has said why.
        throw text::silent_failure();
    }
    text::print(fmt::format("{}\n", child));
    fmt::print(stderr, "recording to {} until: kill {}\n", given.output, child);
}

/// Finishes a file whose process was killed, and removes what it has left.
void recover(const options& given) {
    const std::string name = tracing::first_line(note_of(given.output));
    if (!name.starts_with(tracing::temporary_prefix))
        throw text::failure(fmt::format("there is no interrupted recording {}", given.output),
                            "name its file with -o");
    const int id = std::atoi(name.c_str() + tracing::temporary_prefix.size());
    if (id > 0 && kill(id, 0) == 0)
        throw text::failure(fmt::format("{} is still being recorded", given.output),
                            fmt::format("end it: kill {}", id));
    {
        const auto in = tracing::instance::existing(name);
        const tracing::trace_dat file{given.output, formats_of(in), true};
        tracing::cpu_files files(in, given.output, true);
        finish(file, in, files);
    }
    tracing::instance::remove_left(name);
}

} // namespace

action record(arguments& with) {
    const auto given = std::make_shared<options>();
    with.positionals("PATTERN", given->patterns, "user events; without -e too, all of them");
    with.option("-o,--output", "FILE", given->output, "the file (default: trace.dat)");
    with.option("-e,--event", "SYSTEM:EVENT", given->others,
                "events of the kernel, such as sched:sched_switch");
    with.option("-f,--filter", "FILTER", given->filter,
                "only records for which this is true, such as 'cents > 300'");
    with.option("-p,--pid", "PID", given->pids, "only this process and its children");
    with.duration("-d,--duration", given->duration, "end after this time");
    with.size("-s,--size", given->size, "end when the records have this size");
    with.size("--buffer", given->buffer, "the size of each CPU's buffer (default: 4M)");
    with.flag("-b,--background", given->background, "print the number of a process that records");
    with.flag("--recover", given->recover, "finish the FILE of a recording that was killed");
    with.program(given->program, "record until this program ends");
    return [given] {
        if (given->recover)
            recover(*given);
        else if (given->background)
            record_in_background(*given);
        else
            record_events(*given, [] {});
    };
}

action snapshot(arguments& with) {
    struct options {
        std::string instance;
        std::string output = "trace.dat";
    };
    const auto given = std::make_shared<options>();
    with.positional("INSTANCE", given->instance, "an ftrace instance that records");
    with.option("-o,--output", "FILE", given->output, "the file (default: trace.dat)");
    return [given] {
        const auto in = tracing::instance::existing(given->instance);
        const tracing::trace_dat file{given->output, formats_of(in), true};
        in.write("snapshot", "1");
        auto files = tracing::cpu_files::of_snapshot(in, given->output);
        files.take_rest();
        tracing::write_trace_dat(file, in, files);
        files.remove();
        in.write("snapshot", "0");
    };
}

} // namespace tool
