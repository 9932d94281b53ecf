// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/commands.hpp"
#include "commands/observation_options.hpp"
#include "commands/recording_note.hpp"
#include "recording/event_type.hpp"
#include "recording/statistics.hpp"
#include "text/errors.hpp"
#include "text/new_file.hpp"
#include "text/output.hpp"
#include "text/quantity.hpp"
#include "tracing/buffers.hpp"
#include "tracing/child_process.hpp"
#include "tracing/events.hpp"
#include "tracing/mounted.hpp"
#include "tracing/observation.hpp"
#include "tracing/parts.hpp"
#include "tracing/rules.hpp"
#include "tracing/signals.hpp"
#include "tracing/stacks.hpp"
#include "tracing/stop_triggers.hpp"
#include "tracing/threads.hpp"
#include "tracing/trace_dat.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

namespace tool {

namespace {

using clock = std::chrono::steady_clock;

struct options {
    observation_options live;
    std::string output = "trace.dat";
    std::vector<std::string> others;
    std::vector<std::string> program;
    double duration = 0;
    std::uint64_t size = 0;
    double time = 0;
    std::string keep;
    std::vector<std::string> on;
    double last = 0;
    std::string stack = "none";
    bool background = false;
    bool recover = false;

    /// Whether a file after the other is made.
    bool has_parts() const noexcept { return time > 0 || !keep.empty(); }
    bool waits() const noexcept { return !on.empty(); }
    tracing::wanted_stacks wanted_stacks() const {
        return {.is_user = stack == "user" || stack == "both",
                .is_kernel = stack == "kernel" || stack == "both"};
    }
};

constexpr auto all_parts = ~std::uint64_t{0};

/// How many parts stay. Throws text::usage_error.
std::uint64_t kept_parts(const options& given) {
    if (!given.keep.empty() && given.time == 0 && given.size == 0 && !given.waits())
        throw text::usage_error("--keep needs --size, --time or --on",
                                "they say when the next file begins");
    if (given.keep.empty() || given.keep == "all")
        return all_parts;
    std::uint64_t number = 0;
    const char* const end = given.keep.data() + given.keep.size();
    const auto read = std::from_chars(given.keep.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end || number == 0)
        throw text::usage_error(fmt::format("--keep: {} is no number of files", given.keep),
                                "give 1 or more, or all");
    return number;
}

constexpr int pause_ms = 50;

std::vector<tracing::stop_condition> stop_conditions(const options& given) {
    return {given.on.begin(), given.on.end()};
}

/// Adds the patterns of other options, and the kernel's events that all of them name.
void add_patterns(const options& given, std::vector<tracing::pattern>& patterns,
                  tracing::trace_dat& file) {
    // Events of the kernel alone do not mean all user events besides.
    for (const auto& other : tracing::to_patterns(given.others))
        patterns.push_back(other);
    // What a trigger waits for is recorded, too.
    for (const auto& condition : stop_conditions(given)) {
        if (patterns.empty() && condition.pattern.is_for_user_events())
            continue;
        if (patterns.empty())
            patterns.emplace_back("*");
        patterns.push_back(condition.pattern);
    }
    for (const auto& wanted : patterns)
        if (!wanted.is_for_user_events())
            for (const auto& name : tracing::events(wanted))
                file.kernel_events.push_back(name.system + "/" + name.event);
}

/// A file with the formats of what an instance records at present.
tracing::trace_dat file_of(const std::string& output, const tracing::instance& in) {
    tracing::trace_dat result{output, {}};
    for (const auto& system : tracing::directories(in.path("events"))) {
        if (recording::is_user_system(system))
            continue;
        // X: some are enabled, some are not.
        if (const auto some = in.try_read(fmt::format("events/{}/enable", system)).value_or("0");
            some[0] == '1' || some[0] == 'X')
            for (const auto& event :
                 tracing::directories(in.path(fmt::format("events/{}", system))))
                if (in.try_read(fmt::format("events/{}/{}/enable", system, event))
                        .value_or("0")[0] == '1')
                    result.kernel_events.push_back(fmt::format("{}/{}", system, event));
    }
    return result;
}

/// Goes back to the beginning of the terminal's line, and clears the line.
const char* same_line() {
    static const bool is_terminal = isatty(STDERR_FILENO);
    return is_terminal ? "\r\x1b[K" : "";
}

/// The files of a recording: one, or a part after the other.
class output {
public:
    output(const options& given, const tracing::instance& in, const tracing::trace_dat& what)
        : given_(given), in_(in), kept_(kept_parts(given)), writer_(given.output, kept_) {
        if (given.has_parts()) {
            // They are of recordings that cannot be finished any more.
            for (const auto left : tracing::part_numbers(given.output, ".cpu"))
                tracing::remove_unfinished(given.output, left);
            const auto parts = tracing::part_numbers(given.output);
            first_ = number_ = parts.empty() ? 1 : parts.back() + 1;
            head_size_ = tracing::head_size(what, in);
        }
        if (const auto wanted = given.wanted_stacks(); wanted.is_any())
            stacks_.emplace(in, wanted);
        begin();
    }

    /// The number of the first part; 0 if there are no parts.
    std::uint64_t first() const noexcept { return first_; }
    /// Of all files.
    std::uint64_t size() const noexcept { return size_ + files_->size(); }
    bool is_full() const noexcept { return given_.size && files_->size() >= given_.size; }

    /// Takes what was recorded. A part that is full is written while the next one is recorded; as
    /// long as the one before is not written, it grows.
    void take(const tracing::trace_dat& what) {
        // A page that was taken and for which there is no space is lost.
        files_->reserve(writer_.is_busy() ? written_size_ : 0);
        files_->take();
        take_stacks();
        const bool is_late = given_.time > 0 && clock::now() >= end_;
        if (number_ == 0 || (!is_full() && !is_late) || writer_.is_busy())
            return;
        files_->take_rest(true);
        size_ += files_->size();
        written_size_ =
            files_->size() + head_size_ + files_->page_size() * (1 + files_->descriptors().size());
        write(what);
        begin_next();
    }
    /// Takes what programs have mapped.
    void take_stacks() {
        if (stacks_)
            stacks_->take(*files_);
    }
    /// Makes a file of what an instance has that was stopped, as far as it is not older than so
    /// many seconds before its end. Returns how many seconds there are.
    double keep_newest(double seconds) {
        constexpr double most = 1e9;
        files_->take_rest(false);
        return static_cast<double>(files_->keep_newest(static_cast<std::uint64_t>(
                   (seconds > 0 ? std::min(seconds, most) : most) * 1e9))) /
               1e9;
    }
    /// Goes on with the next part.
    std::string next(const tracing::trace_dat& what) {
        std::string written = path();
        write(what);
        writer_.finish();
        begin_next();
        return written;
    }
    /// Returns what the files are called.
    std::string finish(const tracing::trace_dat& what) {
        files_->take_rest(in_.is_mounted());
        writer_.finish();
        write_trace_dat(with_stacks(what), in_, *files_);
        remove();
        if (number_ == 0)
            return path();
        tracing::keep_parts(given_.output, kept_);
        return number_ == first_
                   ? path()
                   : fmt::format("{} to {}",
                                 tracing::part_name(
                                     given_.output,
                                     std::max(first_, number_ - std::min(number_, kept_) + 1)),
                                 path());
    }
    void remove() noexcept { files_->remove(); }

private:
    std::string path() const {
        return number_ ? tracing::part_name(given_.output, number_) : given_.output;
    }
    /// What the present file is made of.
    tracing::trace_dat with_stacks(const tracing::trace_dat& what) {
        return {.path = path(),
                .kernel_events = what.kernel_events,
                .has_functions = given_.wanted_stacks().is_kernel,
                .frames = stacks_ ? stacks_->names(*files_) : std::string()};
    }
    /// Has the present part written by the writer's thread.
    void write(const tracing::trace_dat& what) {
        const auto complete = with_stacks(what);
        writer_.start(complete, in_, std::move(*files_));
    }
    void begin_next() {
        number_++;
        begin();
    }
    void begin() {
        files_.emplace(in_, path(), false);
        const auto length =
            std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(given_.time));
        end_ = std::max(end_, clock::now() - length) + length;
    }

    const options& given_;
    const tracing::instance& in_;
    std::uint64_t kept_;
    std::uint64_t first_ = 0, number_ = 0;
    std::uint64_t size_ = 0;
    /// Of the part that is written, and of what a part has besides its records.
    std::uint64_t written_size_ = 0, head_size_ = 0;
    clock::time_point end_ = clock::now();
    std::optional<tracing::cpu_files> files_;
    std::optional<tracing::stacks> stacks_;
    tracing::part_writer writer_;
};

void show_progress(const output& to, const progress& so_far) {
    static auto next = clock::now();
    if (!*same_line() || clock::now() < next)
        return;
    next = clock::now() + std::chrono::milliseconds(500);
    text::say(fmt::format("{}{} records, {}, {} lost", same_line(), so_far.records(),
                          text::from_bytes(to.size()), so_far.lost()));
}

/// Ends a recording. The function writes what is left of it, and returns what the files are called.
template <typename Write>
void finish(const tracing::instance& in, recording_note& note, const progress& whole, Write write) {
    if (!in.is_mounted())
        in.write("tracing_on", "0");
    const std::string files = write();
    note.remove();
    const auto lost = whole.lost();
    text::say(
        fmt::format("{}{}: {} records, {} lost\n", same_line(), files, whole.records(), lost));
    if (lost)
        text::warn(in.is_mounted()
                       ? "an administrator can make the buffers larger, with buffer_size_kb"
                       : "--buffer makes the buffers larger; --filter and --pid have fewer "
                         "records");
}

/// Calls a function. If it fails, the instance is left with its records, for --recover.
template <typename Function>
void call_or_leave(const std::string& output, tracing::observation& observation,
                   Function function) {
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

/// Removes the files of a recording that fails before it has begun.
struct files_until_begun {
    output& files;
    recording_note& note;
    bool has_begun = false;

    ~files_until_begun() {
        if (has_begun)
            return;
        files.remove();
        note.remove();
    }
};

/// Waits until the kernel has stopped the instance, and writes what it has recorded before.
class flight_recorder {
public:
    flight_recorder(const options& given, tracing::observation& observation, output& files)
        : given_(given), observation_(observation), files_(files),
          triggers_(in(), stop_conditions(given)) {}

    /// Returns whether all is written that was wanted.
    bool take(const tracing::trace_dat& what) {
        files_.take_stacks();
        if (!has_stopped())
            return false;
        const double seconds = files_.keep_newest(given_.last);
        count_++;
        std::string written;
        if (given_.has_parts()) {
            written = files_.next(what);
            in().write("tracing_on", "1");
        } else {
            written = files_.finish(what);
        }
        text::say(fmt::format("{}{}: the last {} before the trigger\n", same_line(), written,
                              recording::as_time(seconds)));
        if (given_.last > 0 && seconds < given_.last && has_overwritten())
            text::warn(fmt::format("the buffers have not held {} s", given_.last),
                       "--buffer makes them larger");
        return !given_.has_parts();
    }
    unsigned count() const noexcept { return count_; }

private:
    const tracing::instance& in() const { return observation_.in(); }
    bool has_stopped() const { return in().try_read("tracing_on").value_or("1")[0] == '0'; }
    bool has_overwritten() const { return tracing::lost_records(in()) > 0; }

    const options& given_;
    tracing::observation& observation_;
    output& files_;
    tracing::stop_triggers triggers_;
    unsigned count_ = 0;
};

/// Without a trigger there is no file.
void remove_last(output& files, recording_note& note, unsigned count) {
    files.remove();
    note.remove();
    if (count == 0)
        throw text::failure("no trigger came: nothing was written",
                            "without --on, record writes all until its end");
}

/// `started` is called when everything is in place. Returns the status of the program, as a shell
/// would; 0 if there is none, or if it was ended.
template <typename Started>
int record_events(const options& given, Started started) {
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
        file = file_of(given.output, in);
    else
        tracing::remember_processes(in);
    output files(given, in, file);
    files_until_begun left{files, note};
    const progress so_far(in);
    note.set_instance(in.name(), so_far.since(), files.first());
    observation.start(wanted);
    const auto end = clock::now() + std::chrono::duration<double>(given.duration);
    std::optional<flight_recorder> flight;
    if (given.waits())
        flight.emplace(given, observation, files);
    std::optional<tracing::child_process> program;
    if (!given.program.empty())
        program.emplace(given.program);
    started();
    left.has_begun = true;
    int status = 0;
    bool is_complete = false;
    call_or_leave(given.output, observation, [&] {
        bool ended = false;
        do {
            ended = signals.wait(pause_ms) || (program && program->has_ended()) ||
                    (given.duration > 0 && clock::now() >= end);
            observation.update();
            if (flight)
                is_complete = flight->take(file);
            else
                files.take(file);
            show_progress(files, so_far);
        } while (!ended && !is_complete && (given.has_parts() || !files.is_full()));
        status = program ? program->status() : 0;
        if (flight)
            return;
        finish(in, note, so_far, [&] { return files.finish(file); });
    });
    if (flight && is_complete)
        note.remove();
    else if (flight)
        remove_last(files, note, flight->count());
    return status;
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
        int status = 0;
        waitpid(child, &status, 0);
        // It has said why.
        throw text::silent_failure{WIFEXITED(status) && status ? WEXITSTATUS(status) : 1};
    }
    text::print(fmt::format("{}\n", child));
    text::say(fmt::format("recording to {} until: kill {}\n", given.output, child));
}

/// Makes a file of what was taken of an instance, and of the rest of it if it has the last records.
void recover_file(const std::string& path, const tracing::instance& in, bool is_last) {
    tracing::cpu_files files(in, path, true);
    if (is_last)
        files.take_rest(in.is_mounted());
    write_trace_dat(file_of(path, in), in, files);
    files.remove();
}

/// Finishes the parts but the last one, whose path is returned.
std::string recover_parts(const std::string& output, std::uint64_t first,
                          const tracing::instance& in) {
    if (first == 0)
        return output;
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
    for (std::size_t i = 0; i + 1 < left.size(); i++)
        recover_file(tracing::part_name(output, left[i]), in, false);
    return tracing::part_name(output, left.back());
}

/// Finishes a file whose process was killed, and removes what it has left.
void recover(const options& given) {
    const auto none = [&] {
        return text::failure(fmt::format("there is no interrupted recording {}", given.output),
                             "name its file with -o");
    };
    if (access((given.output + ".recording").c_str(), F_OK) != 0)
        throw none();
    recording_note note(given.output);
    const std::string name = note.instance();
    if (name.empty())
        throw none();
    // After a reboot it can be of another command.
    if (!note.is_mounted() && tracing::is_in_use(name))
        throw text::failure(
            fmt::format("the instance {} is of a process that still runs", name),
            fmt::format("if the system was booted after the recording, {0}.recording and {0}.cpu* "
                        "cannot be used any more: remove them; else end that process",
                        given.output));
    {
        tracing::observation observation(note.is_mounted()
                                             ? tracing::open_mounted(name, tracing::clock::any)
                                             : tracing::instance::existing(name));
        const auto& in = observation.in();
        const progress whole(in, note.since());
        call_or_leave(given.output, observation, [&] {
            finish(in, note, whole, [&] {
                auto path = recover_parts(given.output, note.first_part(), in);
                recover_file(path, in, true);
                return path;
            });
        });
    }
    if (name.starts_with(tracing::temporary_prefix)) {
        tracing::remove_rules_of(name);
        tracing::instance::remove_left(name);
    }
}

/// What to do if a snapshot was not all written. What was read is in the files alone.
std::string remedy_for_snapshot(const std::string& output, const tracing::instance& in,
                                bool was_read) {
    const auto unread = fmt::format(
        "records that were not read yet are in {}, until the next snapshot", in.path("snapshot"));
    return was_read
               ? fmt::format("records that were read are in {0}.cpu0 and so on, until the next "
                             "recording of {0}: `trace-cmd restore -o OTHER {0}.cpu*` makes a "
                             "file of them; {1}",
                             output, unread)
               : unread;
}

/// Pages are recorded as they are.
void require_all_of_mounted(const options& given) {
    given.live.require_alone();
    if (given.live.has_from() && given.wanted_stacks().is_any())
        throw text::usage_error("--from and --stack exclude each other",
                                "whoever makes the instance can switch on its options stacktrace "
                                "and userstacktrace");
    if (given.live.has_from() &&
        (!given.live.patterns.empty() || !given.others.empty() || !given.live.group.name.empty() ||
         !given.live.filter.empty() || !given.live.choice.read().is_all()))
        throw text::usage_error("--from records all that the instance does",
                                "choose when the file is read: user-events report FILE PATTERN "
                                "--filter FILTER");
}

void require_trigger_options(const options& given) {
    (void)stop_conditions(given);
    if (given.last > 0 && !given.waits())
        throw text::usage_error("--last needs --on", "it says before what");
    if (given.waits() && (given.size > 0 || given.time > 0 || given.live.has_from()))
        throw text::usage_error("--on excludes --size, --time and --from",
                                "with --keep, each trigger makes a file");
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

action record(arguments& with) {
    const auto given = std::make_shared<options>();
    given->live.declare_patterns(
        with, "user events, also as 'MyProvider:*'; without -e too, all of them");
    with.option("-o,--output", "FILE", given->output, "the file (default: trace.dat)");
    given->live.declare_from(with);
    with.option("-e,--event", "SYSTEM:EVENT", given->others,
                "events of the kernel, such as sched:sched_switch");
    given->live.declare_filter(with);
    given->live.declare_choice(with);
    with.duration("-d,--duration", given->duration, "end after this time");
    with.size("-s,--size", given->size,
              "end when the records have this size; with --keep, begin the next file");
    with.duration("--time", given->time,
                  "begin the next file after this time: FILE.000001 and so on");
    with.option("--keep", "N", given->keep, "how many of these files stay, or all");
    with.option("--on", "EVENT", given->on,
                "write what was recorded before this event, or 'EVENT if FILTER'; can be repeated");
    with.duration("--last", given->last, "with --on, leave out what is older than this");
    given->live.declare_buffer(with);
    with.choice("--stack", "WHOSE", given->stack, {"none", "user", "kernel", "both"},
                "the functions that are active at each record (default: none)");
    with.flag("-b,--background", given->background, "print the number of a process that records");
    with.flag("--recover", given->recover,
              "finish the FILE of a recording that was killed or failed");
    with.program(given->program, "record until this program ends");
    return [given] {
        require_all_of_mounted(*given);
        (void)kept_parts(*given);
        require_trigger_options(*given);
        if (given->recover)
            recover(*given);
        else if (given->background)
            record_in_background(*given);
        else if (const int status = record_events(*given, [] {}))
            throw text::silent_failure{status};
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
        // All that can be wrong with the output, before the records leave the instance.
        tracing::require_output(given->output);
        recording_note note(given->output);
        note.refuse_interrupted();
        // The pages, and the file.
        constexpr unsigned copies = 2;
        const auto file = file_of(given->output, in);
        tracing::require_space_for(in, note.path(), given->output, tracing::waiting_bytes(in),
                                   copies, tracing::head_size(file, in));
        take_snapshot(file, in);
        note.remove();
        in.write("snapshot", "0");
    };
}

} // namespace tool
