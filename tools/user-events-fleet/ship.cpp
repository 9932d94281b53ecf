// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands.hpp"
#include "commands/cut_options.hpp"
#include "commands/observation_options.hpp"
#include "config.hpp"
#include "otlp/collector.hpp"
#include "otlp/encoder.hpp"
#include "otlp/queue.hpp"
#include "recording/isolate.hpp"
#include "recording/opened.hpp"
#include "service.hpp"
#include "text/errors.hpp"
#include "tracing/buffers.hpp"
#include "tracing/following.hpp"
#include "tracing/live_source.hpp"
#include "tracing/mounted.hpp"
#include "tracing/signals.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tool {

namespace {

struct options {
    /// Of a recording, too, as far as they make sense. `from` is for a directory.
    observation_options live;
    /// Recordings, or the directory of a mounted instance.
    std::vector<std::string> from;
    /// At the speed of the recorded programs.
    bool timed = false;
    /// Used by cli.cpp; here it only says whether there is a file.
    std::string config;
    cut_options cut;
    std::vector<std::string> pairs;
    std::vector<std::string> services;
    std::string encoding = "protobuf";
    std::string compression = "gzip";
    std::string headers_file;
    std::string spool;
    std::uint64_t spool_size = 256 << 20;
    bool sync = false;
    otlp::delivery delivery;

    bool has_recording() const { return !from.empty() && !live.has_from(); }
};

/// How long the records of a CPU may wait in its buffer.
constexpr int pause_ms = 50;
/// How long records may wait for others to share a request with.
constexpr std::chrono::milliseconds flush_pause(500);
/// How much of a recording waits for the collector at most: the rest can wait in its file.
constexpr std::uint64_t most_of_recording = 16 << 20;
/// The environment variable that tells the program that begins again which instance it was left.
constexpr const char* left_instance = "USER_EVENTS_SHIP_INSTANCE";

/// Sends what is in the queue, in a thread of its own.
class sender {
public:
    sender(otlp::queue& queue, const otlp::delivery& how)
        : queue_(queue), collector_(how), worker_([this] { run(); }) {}
    ~sender() { queue_.stop(); }

    /// Has the thread end once the request that is on its way has its answer. Does not wait.
    void stop() { queue_.stop(); }
    bool has_ended() const noexcept { return has_ended_; }

    /// Waits for the answer to the request that is on its way. Throws what went wrong in the
    /// thread.
    void join() {
        queue_.stop();
        worker_.join();
    }

    /// The same, and then sends the rest if the collector takes it.
    void finish() {
        join();
        otlp::deliver_rest(queue_, collector_, grace);
    }

private:
    /// Seconds.
    static constexpr double grace = 5;

    void run() {
        try {
            otlp::deliver(queue_, collector_);
        } catch (...) {
            // Nothing waits for room in the queue any more.
            queue_.stop();
            has_ended_ = true;
            throw;
        }
        has_ended_ = true;
    }

    otlp::queue& queue_;
    otlp::collector collector_;
    std::atomic<bool> has_ended_ = false;
    tracing::worker worker_;
};

/// Of a recording, --pid and --comm choose records.
recording::cut to_cut(const options& given) {
    const tracing::scope programs = given.live.programs.read();
    if (!programs.uids.empty() || !programs.exe.empty() || !programs.cgroup.empty() ||
        programs.has_children)
        throw text::usage_error("--from excludes --exe, --cgroup, --uid and --children",
                                "a recording does not tell; --pid and --comm choose its records");
    recording::cut cut = given.cut.read();
    for (const auto& process : programs.pids)
        cut.processes.push_back(std::atoi(process.c_str()));
    cut.comm = programs.comm;
    return cut;
}

void complete(options& given) {
    given.delivery.compress = given.compression == "gzip";
    given.delivery.encoding =
        given.encoding == "json" ? otlp::encoding::json : otlp::encoding::protobuf;
    if (std::error_code none;
        given.from.size() == 1 && std::filesystem::is_directory(given.from[0], none))
        given.live.from = given.from[0];
    if (given.timed && !given.has_recording())
        throw text::usage_error("--timed is for a recording", "use it with --from FILE");
    if (given.cut.is_given() && !given.has_recording())
        throw text::usage_error("--align, --from-time, --to-time and --cpu are for recordings",
                                "use them with --from FILE");
    if (given.has_recording())
        to_cut(given);
    else
        given.live.require_alone();
    if (given.has_recording() && !given.spool.empty())
        throw text::usage_error("--from and --spool exclude each other",
                                "the recording is kept, so no spool is needed");
}

void add_headers_of_file(options& given) {
    if (given.headers_file.empty())
        return;
    for (auto& header : otlp::read_headers(given.headers_file))
        given.delivery.headers.push_back(std::move(header));
}

/// Whether the directory can be written, or can be made with the directories above it.
void check_spool(const std::string& spool) {
    std::error_code error;
    std::filesystem::path nearest = std::filesystem::absolute(spool, error);
    while (nearest.has_relative_path() && !std::filesystem::exists(nearest, error) &&
           error != std::errc::not_a_directory)
        nearest = nearest.parent_path();
    if (!std::filesystem::is_directory(nearest, error))
        throw text::usage_error(
            fmt::format("{} cannot be a spool: {} is no directory", spool, nearest.string()),
            "--spool names a directory, or where it can be created");
    if (faccessat(AT_FDCWD, nearest.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        throw text::failure(fmt::format("{} cannot be a spool: cannot write to {}: {}", spool,
                                        nearest.string(), std::strerror(errno)),
                            "--spool names a directory that this user can write to");
}

/// Files that are missing are a usage error here. For a command that begins they are a failure,
/// after which systemd starts it again.
void check_files(options& given) {
    try {
        add_headers_of_file(given);
        if (!given.spool.empty())
            check_spool(given.spool);
        const otlp::collector collector(given.delivery);
    } catch (const text::failure& error) {
        throw text::usage_error(error.what(), error.remedy());
    }
}

void check(options& given) {
    check_files(given);
    given.live.group.check(given.live.patterns);
    given.live.choice.read();
    given.live.programs.read();
    otlp::to_services(given.services);
    exporting::to_pairs(given.pairs);
}

/// A full disk is no reason to end here.
void try_set_instance(otlp::queue& queue, const std::string& name, std::uint64_t read) {
    try {
        queue.set_instance(name, read);
    } catch (const text::system_failure& error) {
        text::warn(fmt::format("{}; going on", error.what()));
    }
}

/// The instance that this process has left to begin again; empty if there is none. The number of
/// the process is not enough: in another PID namespace, another process has the same.
std::string take_left_instance() {
    const char* const found = std::getenv(left_instance);
    const std::string result = found ? found : "";
    unsetenv(left_instance);
    const std::string own = fmt::format("{}{}", tracing::temporary_prefix, getpid());
    return result.substr(0, result.find('+')) == own ? result : "";
}

/// Removes an instance that no process would adopt.
void remove_left(const std::string& name, otlp::queue& queue) {
    const auto names = tracing::instance_names();
    if (std::find(names.begin(), names.end(), name) == names.end())
        return;
    {
        const auto left = tracing::instance::existing(name);
        (void)left.try_write("tracing_on", "0");
        const auto unread = tracing::made_records(left) - tracing::read_records(left);
        queue.drop_unread(otlp::reason::stopped, unread);
        text::warn(fmt::format("the instance {} was for another spool, and is removed with {} "
                               "records that were not read",
                               name, unread));
    }
    tracing::remove_rules_of(name);
    tracing::instance::remove_left(name);
}

/// The mounted instance, one that another process has left, or a new one.
tracing::instance make_instance(const options& given, otlp::queue& queue) {
    const auto left_here = take_left_instance();
    if (!left_here.empty() && (given.live.has_from() || left_here != queue.instance()))
        remove_left(left_here, queue);
    if (given.live.has_from()) {
        queue.set_instance("", 0);
        return tracing::open_mounted(given.live.from);
    }
    if (auto left = tracing::instance::adopted(queue.instance())) {
        try_set_instance(queue, left->name(), tracing::read_records(*left));
        // It may have records that no process has read: an error must not remove them.
        left->leave();
        return std::move(*left);
    }
    queue.set_instance("", 0);
    auto made = tracing::instance::temporary();
    tracing::set_buffer_size(made, given.live.buffer);
    queue.set_instance(made.name(), 0);
    return made;
}

class shipper {
public:
    shipper(const options& given, const tracing::instance& in, otlp::queue& queue)
        : queue_(queue), wanted_(given.live.filtered()),
          source_(in, wanted_.events, std::move(wanted_.filter),
                  {.has_wall_clock = true,
                   .has_only_instance = true,
                   .take_unknown =
                       [&queue](const recording::record&) { queue.drop(otlp::reason::unknown, 1); },
                   .skip = [this] { skipped_++; }}),
          resources_(otlp::to_services(given.services),
                     !in.is_mounted() || tracing::has_threads_of_records(), std::string()),
          encoder_(given.delivery.encoding, exporting::to_pairs(given.pairs), resources_,
                   [this](otlp::request made) {
                       skip();
                       queue_.put(std::move(made));
                   }) {}

    const tracing::wanted_events& wanted_events() const noexcept { return wanted_.events; }

    void read() {
        encoder_.observe();
        source_.read([this](const recording::record& record) { return add(record); });
        const auto now = std::chrono::steady_clock::now();
        if (now - flushed_ < flush_pause)
            return;
        flushed_ = now;
        resources_.refresh();
        encoder_.flush();
        count();
        queue_.report();
    }

    /// Ends, but leaves to another process what the kernel still has.
    void hand_over() {
        source_.read_rest([this](const recording::record& record) { return add(record); });
        encoder_.finish();
        count();
    }

    void finish() {
        read();
        // A mounted instance goes on recording: a page that was taken out may have later records.
        hand_over();
        queue_.report();
    }

private:
    bool add(const recording::record& record) {
        encoder_.add(record);
        work_.step();
        return true;
    }

    /// Not for each record: the queue may be writing to the disk.
    void skip() { queue_.skip(std::exchange(skipped_, 0)); }

    void count() {
        skip();
        queue_.set_lost_in_kernel(source_.lost());
    }

    otlp::queue& queue_;
    /// What was read and is not wanted, as far as the queue does not know it.
    std::uint64_t skipped_ = 0;
    observation_options::filtered_events wanted_;
    // Its types of events have to exist as long as the encoder.
    tracing::live_source source_;
    otlp::resources resources_;
    otlp::encoder encoder_;
    // After a flood, the buffers have more records than some machines can encode in 90 s.
    long_work work_;
    std::chrono::steady_clock::time_point flushed_{};
};

/// Without a spool, what was not sent is lost now.
void warn_about_rest(otlp::queue& queue, const options& given) {
    if (given.spool.empty())
        queue.clear(otlp::reason::stopped);
    for (const auto& [why, count] : queue.drops())
        text::warn(fmt::format("{} records were dropped: {}", count, why));
}

/// Reads until a signal comes. Returns whether the command has to begin again. With a spool, it
/// first reads on until the collector has answered: meanwhile, nothing else empties the buffers.
bool read_until_signal(const options& given, shipper& shipper, tracing::following* following,
                       tracing::stop_signals& signals, sender& sender) {
    const auto read = [&] {
        if (following)
            following->update();
        shipper.read();
    };
    bool stopped = false;
    while (!stopped) {
        // What was recorded before the signal is read while its events exist.
        stopped = signals.wait(pause_ms);
        read();
        if (!has_to_restart(signals))
            continue;
        if (given.spool.empty())
            return true;
        sender.stop();
        // Signals that come now are for the program that begins again.
        while (!sender.has_ended()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
            read();
        }
        return true;
    }
    report_stop();
    return false;
}

/// Ships until a signal comes. Returns whether the command has to begin again. With a spool, the
/// instance and its rules are left to the process that then begins again. After an error here, they
/// are left to the next process with this spool.
bool ship_until_signal(const options& given, tracing::instance& instance, shipper& shipper,
                       tracing::stop_signals& signals, sender& sender) {
    if (instance.is_mounted()) {
        report_ready();
        return read_until_signal(given, shipper, nullptr, signals, sender);
    }
    tracing::following following(instance, shipper.wanted_events());
    instance.write("tracing_on", "1");
    const bool has_spool = !given.spool.empty();
    if (has_spool)
        instance.leave();
    const auto keep_rules = [&] {
        if (has_spool)
            following.release();
    };
    report_ready();
    try {
        const bool again = read_until_signal(given, shipper, &following, signals, sender);
        if (again)
            keep_rules();
        return again;
    } catch (...) {
        keep_rules();
        throw;
    }
}

/// Ships what the instance records. Returns whether the command has to begin again.
bool ship_instance(const options& given, tracing::instance& instance, otlp::queue& queue,
                   tracing::stop_signals& signals, sender& sender) {
    shipper shipper(given, instance, queue);
    const bool again = ship_until_signal(given, instance, shipper, signals, sender);
    if (again && !given.spool.empty()) {
        shipper.hand_over();
        if (!instance.is_mounted())
            setenv(left_instance, instance.name().c_str(), 1);
    } else {
        if (!instance.is_mounted())
            instance.write("tracing_on", "0");
        shipper.finish();
        instance.take_back();
        try_set_instance(queue, "", 0);
    }
    return again;
}

void ship_events(const options& given) {
    tracing::stop_signals signals;
    if (!given.config.empty())
        signals.reload_on_hangup();
    otlp::queue queue(given.spool, given.spool_size, otlp::report_maker(given.delivery.encoding),
                      given.sync);
    // It checks the options first.
    sender sender(queue, given.delivery);
    bool again = false;
    {
        auto instance = make_instance(given, queue);
        again = ship_instance(given, instance, queue, signals, sender);
    }
    // The spool keeps what the collector has not taken, and nothing empties the buffers here.
    if (again && !given.spool.empty())
        sender.join();
    else
        sender.finish();
    warn_about_rest(queue, given);
    if (again)
        throw restart();
    require_reader(signals);
}

void require_wall_clock(const recording::record& record, const std::string& path) {
    if (!recording::is_wall_clock(record.time))
        throw text::failure(
            fmt::format("{} does not say how far its clock is from the time of day", path),
            "record it with `user-events record`, or `trace-cmd record --date`");
}

/// Ships records of a file at the speed at which they were made.
class replay {
public:
    replay(otlp::encoder& encoder, tracing::stop_signals& signals)
        : encoder_(encoder), signals_(signals) {}

    /// Waits until the record is due, the first one at once. Returns false if a signal came before.
    bool wait_for(const recording::record& record) {
        if (!first_)
            first_ = record.time;
        const auto due = start_ + std::chrono::nanoseconds(record.time - *first_);
        while (true) {
            const auto now = clock::now();
            if (now - flushed_ >= flush_pause) {
                encoder_.flush();
                flushed_ = now;
            }
            if (now >= due)
                return true;
            const auto rest = std::chrono::ceil<std::chrono::milliseconds>(due - now);
            if (signals_.wait(static_cast<int>(std::min(rest, flush_pause).count())))
                return false;
        }
    }

private:
    using clock = std::chrono::steady_clock;

    otlp::encoder& encoder_;
    tracing::stop_signals& signals_;
    clock::time_point start_ = clock::now();
    clock::time_point flushed_ = start_;
    std::optional<std::uint64_t> first_;
};

/// In the process that reads the recording.
void ship_records(const options& given, const recording::opened_recording& from) {
    tracing::stop_signals signals;
    const auto source = from.read({.patterns = given.live.patterns,
                                   .filter = given.live.filter,
                                   .choice = given.live.choice.read(),
                                   .cut = to_cut(given)});
    otlp::queue queue("", std::min(given.spool_size, most_of_recording),
                      otlp::report_maker(given.delivery.encoding));
    sender sender(queue, given.delivery);
    otlp::resources resources(otlp::to_services(given.services), false, source->host());
    otlp::encoder encoder(
        given.delivery.encoding, exporting::to_pairs(given.pairs), resources,
        [&](otlp::request made) { queue.put(std::move(made), [&] { return signals.wait(0); }); });
    replay replay(encoder, signals);
    bool stopped = false;
    std::exception_ptr damage;
    try {
        source->read([&](const recording::record& record) {
            require_wall_clock(record, from.name());
            stopped = stopped || queue.is_stopped() || signals.has_stopped() ||
                      (given.timed && !replay.wait_for(record));
            if (stopped)
                queue.drop(otlp::reason::stopped, 1);
            else
                encoder.add(record);
        });
    } catch (const recording::damaged_file&) {
        // What can be read is sent first.
        damage = std::current_exception();
    }
    encoder.finish();
    queue.drop(otlp::reason::kernel, source->lost());
    queue.report();
    while (!queue.is_empty() && !signals.wait(pause_ms))
        ;
    sender.finish();
    source->warn_about_gaps();
    warn_about_rest(queue, given);
    if (damage)
        std::rethrow_exception(damage);
    if (queue.drops().size() > queue.drops().count("kernel"))
        throw text::silent_failure();
}

void ship_recording(options given) {
    if (given.live.patterns.size() > 1)
        throw text::usage_error("--from takes one pattern");
    if (!given.live.group.name.empty())
        throw text::usage_error("--group is not for a recording",
                                "the pattern `user_events_NAME*:*` chooses the group's events");
    // May wait, if one is a FIFO.
    const recording::opened_recording input(given.from, given.cut.align());
    otlp::read_files(given.delivery);
    tracing::held_signals held;
    recording::isolated_work work{.needs = {.network = true}};
    work.read = [&] { ship_records(given, input); };
    recording::isolate(held, input.name(), input.size(), std::move(work));
}

} // namespace

action ship(arguments& with) {
    const auto given = std::make_shared<options>();
    given->live.declare_patterns(with);
    with.required_option("--otlp", "URL", given->delivery.url,
                         "the collector, such as http://localhost:4318");
    with.option("--from", "FILE", given->from,
                "ship a recording (several count as one); or, for a directory, the records of the "
                "ftrace instance mounted there");
    with.flag("--timed", given->timed,
              "with a recording: ship the records at the speed at which they were made");
    given->live.declare_filter(with);
    given->live.declare_choice(with);
    given->cut.declare(with);
    given->cut.declare_align(with);
    with.option("--pair", "BEGIN,END,KEY", given->pairs,
                "two events that begin and end a span, and the field that both have in common; "
                "can be repeated");
    with.option("--service", "PROGRAM=SERVICE", given->services,
                "the service's name for records of this program; can be repeated");
    with.choice("--encoding", "FORMAT", given->encoding, {"protobuf", "json"},
                "how requests are encoded (default: protobuf)");
    with.choice("--compression", "FORMAT", given->compression, {"gzip", "none"},
                "how requests are compressed (default: gzip)");
    with.option("--header", "NAME: VALUE", given->delivery.headers,
                "a header of all requests; can be repeated");
    with.option("--headers-file", "FILE", given->headers_file, "headers, one a line");
    with.option("--ca", "FILE", given->delivery.ca,
                "certificates of the authorities that may have signed the collector's certificate");
    with.option("--certificate", "FILE", given->delivery.certificate,
                "the certificate of this machine");
    with.option("--key", "FILE", given->delivery.key, "the private key of --certificate");
    with.duration("--timeout", given->delivery.timeout,
                  "how long to wait for the collector's answer (default: 10s)");
    with.option("--spool", "PATH", given->spool,
                "a directory for requests that the collector has not taken yet");
    with.size("--spool-size", given->spool_size,
              "how much may wait for the collector (default: 256M)");
    with.flag("--sync", given->sync, "have each file of the spool on the disk before going on");
    given->live.declare_buffer(with);
    with.config(given->config, read_config);
    return [given] {
        complete(*given);
        if (is_only_checked())
            return check(*given);
        add_headers_of_file(*given);
        if (given->has_recording())
            ship_recording(*given);
        else
            ship_events(*given);
    };
}

} // namespace tool
