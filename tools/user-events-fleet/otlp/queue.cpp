// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/queue.hpp"

#include "text/errors.hpp"
#include "text/new_file.hpp"
#include "text/number.hpp"
#include "text/quantity.hpp"
#include "tracing/wall_clock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <libdeflate.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tool::otlp {

namespace {

constexpr const char* signals[] = {"logs", "traces", "metrics"};
constexpr const char* reasons[] = {"kernel",  "killed",   "spool",   "disk",
                                   "damaged", "rejected", "stopped", "unknown"};

/// A report is sent with both signals. What the collector knows from each has this name in `state`.
constexpr signal report_signals[] = {signal::logs, signal::metrics};
constexpr const char* reported_names[] = {"reported_in_logs", "reported_in_metrics"};

/// How long to wait before a file that could not be read is read again.
constexpr std::chrono::seconds read_pause(1);

/// How often to ask whether to go on waiting for room.
constexpr std::chrono::milliseconds room_pause(50);

/// The largest number of a request. `ship` never makes so many requests, so another program has
/// written a file or a state with a larger number. The largest number of all has no next one.
constexpr std::uint64_t most_sequence = std::uint64_t{1} << 60;

/// The body is followed by its checksum.
constexpr std::size_t checksum_size = 8;

/// What a file of this size takes of the disk, in most file systems.
std::uint64_t in_blocks(std::uint64_t size) {
    constexpr std::uint64_t block = 4096;
    return (size + block - 1) / block * block;
}

std::string checksum_of(const std::string& body) {
    return fmt::format("{:08x}", libdeflate_crc32(0, body.data(), body.size()));
}

/// Returns 0 or an errno.
int write_whole(const std::string& path, const std::string& text, bool sync) {
    try {
        text::new_file file(path);
        file.write(text);
        file.finish(sync);
        return 0;
    } catch (const text::system_failure& error) {
        return error.error();
    }
}

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> result;
    std::istringstream parts(text);
    for (std::string part; std::getline(parts, part, '.');)
        result.push_back(part);
    return result;
}

/// What the name of a file of the queue says.
struct contents {
    std::uint64_t sequence;
    otlp::signal signal;
    std::uint64_t records;
    std::uint64_t total;
};

std::optional<contents> to_contents(const std::string& name) {
    const auto parts = split(name);
    if (parts.size() != 4)
        return {};
    const auto sequence = text::to_number<std::uint64_t>(parts[0]),
               records = text::to_number<std::uint64_t>(parts[2]),
               total = text::to_number<std::uint64_t>(parts[3]);
    const auto* const signal = std::find(std::begin(signals), std::end(signals), parts[1]);
    if (!sequence || *sequence > most_sequence || !records || !total || signal == std::end(signals))
        return {};
    return contents{*sequence, static_cast<otlp::signal>(signal - std::begin(signals)), *records,
                    *total};
}

/// Whether a killed process has left this file before it had its name.
bool is_part(const std::string& name) {
    constexpr std::size_t random = 6;
    const auto end = name.rfind(".part-");
    if (end == name.npos || name.size() - end != std::strlen(".part-") + random)
        return false;
    const std::string whole = name.substr(0, end);
    return whole == "state" || to_contents(whole);
}

} // namespace

const char* name_of(reason why) {
    return reasons[static_cast<int>(why)];
}

queue::queue(std::string directory, std::uint64_t size, report_maker make_report, bool sync)
    : directory_(std::move(directory)), most_(size), sync_(sync),
      make_report_(std::move(make_report)),
      since_(static_cast<std::uint64_t>(tracing::nanoseconds(CLOCK_REALTIME))) {
    while (directory_.size() > 1 && directory_.ends_with('/'))
        directory_.pop_back();
    if (directory_.empty())
        return;
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(directory_).parent_path(), ignored);
    if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
        throw text::file_failure(errno, "create", directory_);
    const std::string path = directory_ + "/lock";
    lock_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock_ < 0)
        throw text::file_failure(errno, "open", path);
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        close(lock_);
        throw text::failure(fmt::format("another process uses the spool {}", directory_),
                            "give each `user-events ship` a directory of its own with --spool");
    }
    load_state();
    // Perhaps another process was ended before it could report them.
    wanted_ = drops_;
    load();
}

queue::~queue() {
    if (lock_ >= 0)
        close(lock_);
}

void queue::load_state() {
    const std::string path = directory_ + "/state";
    if (access(path.c_str(), F_OK) != 0 && errno == ENOENT)
        return;
    const std::string text = text::contents_of(path);
    try {
        const auto state = nlohmann::json::parse(text);
        // All of them or none.
        const auto number = [](const nlohmann::json& found) {
            if (!found.is_number_unsigned())
                throw std::invalid_argument("not a number of records");
            return found.get<std::uint64_t>();
        };
        const auto named = [&](const char* name) {
            return number(state.value(name, nlohmann::json(0U)));
        };
        const auto finished = named("finished"), total = named("total"), lost = named("lost"),
                   first = named("first");
        if (finished > most_sequence || first > most_sequence)
            throw std::invalid_argument("not a number of requests");
        auto instance = state.value("instance", std::string());
        const auto counts = [&](const char* name) {
            drop_counts result;
            for (const auto& [why, count] :
                 state.value(name, std::map<std::string, nlohmann::json>()))
                result[why] = number(count);
            return result;
        };
        auto drops = counts("drops");
        std::array reported{counts(reported_names[0]), counts(reported_names[1])};
        // A version that did not report what another process had dropped has none.
        const auto since = number(state.value("since", nlohmann::json(since_)));
        drops_ = std::move(drops);
        reported_ = std::move(reported);
        since_ = since;
        instance_ = std::move(instance);
        finished_ = finished;
        total_ = total;
        lost_ = lost;
        first_ = first;
        next_ = std::max(finished_ + 1, first_);
    } catch (const std::exception&) {
        text::warn(
            fmt::format("{}/state is damaged: counts of dropped records begin at 0", directory_));
    }
}

void queue::load() {
    for (const auto& file : std::filesystem::directory_iterator(directory_)) {
        const std::string name = file.path().filename();
        if (is_part(name))
            unlink(file.path().c_str());
        const auto found = to_contents(name);
        std::error_code ignored;
        if (!found || file.symlink_status(ignored).type() != std::filesystem::file_type::regular)
            continue;
        // The process was killed before it had removed the file.
        if (found->sequence <= finished_) {
            unlink(file.path().c_str());
            continue;
        }
        const auto size = std::filesystem::file_size(file.path(), ignored);
        entries_.push_back({found->sequence,
                            found->signal,
                            found->records,
                            found->total,
                            ignored ? 0 : in_blocks(size),
                            {}});
    }
    std::sort(entries_.begin(), entries_.end(),
              [](const entry& a, const entry& b) { return a.sequence < b.sequence; });
    for (const entry& each : entries_) {
        size_ += each.size;
        next_ = std::max(next_, each.sequence + 1);
        if (each.sequence >= first_)
            total_ = std::max(total_, each.total);
    }
}

/// Returns 0 or an errno.
int queue::save_state() {
    if (directory_.empty())
        return 0;
    const nlohmann::json state{{"finished", finished_},
                               {"total", total_},
                               {"lost", lost_},
                               {"first", first_},
                               {"instance", instance_},
                               {"drops", drops_},
                               {"since", since_},
                               {reported_names[0], reported_[0]},
                               {reported_names[1], reported_[1]}};
    const int error = write_whole(directory_ + "/state", state.dump() + "\n", sync_);
    is_state_old_ = error != 0;
    has_unsaved_skips_ = has_unsaved_skips_ && error;
    return error;
}

std::string queue::path_of(const entry& of) const {
    return fmt::format("{}/{}.{}.{}.{}", directory_, of.sequence,
                       signals[static_cast<int>(of.signal)], of.records, of.total);
}

bool queue::write(const entry& added, const std::string& body) {
    const int error = write_whole(path_of(added), body + checksum_of(body), sync_);
    if (error && !has_warned_)
        text::warn(fmt::format("cannot write to the spool {}: {}; records are dropped until it "
                               "works again",
                               directory_, std::strerror(error)));
    else if (!error && has_warned_)
        text::warn(fmt::format("the spool {} can be written again", directory_));
    has_warned_ = error != 0;
    return !error;
}

/// Throws text::system_failure if the file cannot be read; another time it may be.
std::optional<std::string> queue::read(const entry& from) const {
    if (directory_.empty())
        return from.body;
    const std::string path = path_of(from);
    std::string body;
    try {
        body = text::contents_of(path);
    } catch (const text::system_failure& error) {
        if (error.error() != ENOENT)
            throw;
    }
    if (body.size() < checksum_size)
        return {};
    const std::string checksum = body.substr(body.size() - checksum_size);
    body.resize(body.size() - checksum_size);
    if (checksum != checksum_of(body))
        return {};
    return body;
}

void queue::count(reason why, std::uint64_t records) {
    if (records)
        drops_[name_of(why)] += records;
}

/// Counts before it removes: a process that is killed in between drops what it has counted.
void queue::remove_front(reason why, std::uint64_t dropped) {
    const entry front = std::move(entries_.front());
    entries_.pop_front();
    size_ -= front.size;
    finished_ = front.sequence;
    count(why, dropped);
    const int error = save_state();
    if (!directory_.empty())
        unlink(path_of(front).c_str());
    // The disk may now have the room that it lacked.
    if (error)
        save_state();
}

void queue::put(request added, const std::function<bool()>& ends) {
    std::unique_lock lock(mutex_);
    const std::uint64_t size =
        directory_.empty() ? added.body.size() : in_blocks(added.body.size() + checksum_size);
    const auto has_room = [&] { return size_ + size <= most_; };
    while (ends && !stopped_ && !entries_.empty() && !has_room() && !ends())
        changed_.wait_for(lock, room_pause);
    // The name of the file counts those that were dropped before, too.
    if (is_state_old_)
        save_state();
    entry made{next_, added.signal, added.records, total_ + added.records, size, {}};
    if (!has_room() && !(ends && entries_.empty())) {
        drop_new(ends ? reason::stopped : reason::spool, added.records);
        return;
    }
    is_full_ = false;
    if (directory_.empty()) {
        made.body = std::move(added.body);
    } else if (!write(made, added.body)) {
        drop_new(reason::disk, added.records);
        return;
    }
    has_unsaved_skips_ = false;
    next_++;
    total_ = made.total;
    size_ += size;
    entries_.push_back(std::move(made));
    changed_.notify_all();
}

/// What is in the queue is kept: it may be on its way to the collector at this moment.
void queue::drop_new(reason why, std::uint64_t records) {
    if (why == reason::spool && !std::exchange(is_full_, true))
        text::warn(fmt::format("{} waits for the collector: records are dropped until there is "
                               "room again; --spool-size changes the limit",
                               text::from_bytes(size_)));
    total_ += records;
    count(why, records);
    save_state();
}

std::optional<signal> queue::next_report() const {
    for (const std::size_t i : {0U, 1U})
        if (wanted_ != reported_[i] && wanted_ != refused_[i])
            return report_signals[i];
    return {};
}

request queue::report_of(signal which) {
    sending_ = {which, wanted_, reported_[which == signal::metrics], since_};
    return {which, 0, make_report_(*sending_)};
}

std::optional<request> queue::front() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return stopped_ || !entries_.empty() || next_report(); });
        sending_.reset();
        if (const auto which = next_report())
            return report_of(*which);
        if (entries_.empty())
            return {};
        const entry& first = entries_.front();
        try {
            if (auto body = read(first))
                return request{first.signal, first.records, std::move(*body)};
        } catch (const text::system_failure& error) {
            if (std::exchange(unreadable_, first.sequence) != first.sequence)
                text::warn(fmt::format("{}; trying again", error.what()), error.remedy());
            if (stopped_)
                return {};
            changed_.wait_for(lock, read_pause);
            continue;
        }
        text::warn(fmt::format("{} is damaged: its {} records are dropped", path_of(first),
                               first.records));
        remove_front(reason::damaged, first.records);
    }
}

void queue::finish(std::uint64_t rejected) {
    const std::lock_guard lock(mutex_);
    if (sending_)
        finish_report(reported_[sending_->signal == signal::metrics]);
    else
        remove_front(reason::rejected, std::min(rejected, entries_.front().records));
    changed_.notify_all();
}

void queue::refuse() {
    const std::lock_guard lock(mutex_);
    if (sending_)
        finish_report(refused_[sending_->signal == signal::metrics]);
    else
        remove_front(reason::rejected, entries_.front().records);
    changed_.notify_all();
}

/// `known` gets what was sent.
void queue::finish_report(drop_counts& known) {
    known = std::move(sending_->drops);
    sending_.reset();
    save_state();
}

bool queue::pause(double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return stopped_; });
    return !stopped_;
}

void queue::stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
}

bool queue::is_stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
}

bool queue::is_empty() {
    const std::lock_guard lock(mutex_);
    return entries_.empty() && !next_report();
}

void queue::drop(reason why, std::uint64_t records) {
    const std::lock_guard lock(mutex_);
    total_ += records;
    count(why, records);
    is_state_old_ = true;
}

void queue::drop_unread(reason why, std::uint64_t records) {
    const std::lock_guard lock(mutex_);
    count(why, records);
    is_state_old_ = true;
}

void queue::skip(std::uint64_t records) {
    const std::lock_guard lock(mutex_);
    total_ += records;
    has_unsaved_skips_ = has_unsaved_skips_ || records;
}

void queue::clear(reason why) {
    const std::lock_guard lock(mutex_);
    while (!entries_.empty())
        remove_front(why, entries_.front().records);
}

void queue::set_lost_in_kernel(std::uint64_t records) {
    const std::lock_guard lock(mutex_);
    if (records > lost_) {
        count(reason::kernel, records - lost_);
        lost_ = records;
        is_state_old_ = true;
    }
    if (is_state_old_ || has_unsaved_skips_)
        save_state();
}

void queue::report() {
    const std::lock_guard lock(mutex_);
    wanted_ = drops_;
    changed_.notify_all();
}

drop_counts queue::drops() {
    const std::lock_guard lock(mutex_);
    return drops_;
}

std::string queue::instance() {
    const std::lock_guard lock(mutex_);
    return instance_;
}

void queue::set_instance(const std::string& name, std::uint64_t read) {
    const std::lock_guard lock(mutex_);
    if (read > total_)
        count(reason::killed, read - total_);
    if (name != instance_ || name.empty())
        lost_ = 0;
    instance_ = name;
    first_ = next_;
    total_ = read;
    if (const int error = save_state())
        throw text::file_failure(error, "write to", directory_ + "/state");
}

} // namespace tool::otlp
