// SPDX-License-Identifier: GPL-2.0-or-later
// Requests that wait for the collector, in memory or in a directory.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace tool::otlp {

enum class signal { logs, traces, metrics };

/// A request, and how many records it has.
struct request {
    otlp::signal signal = signal::logs;
    std::uint64_t records = 0;
    std::string body;
};

/// Why records were dropped.
enum class reason { kernel, killed, spool, disk, damaged, rejected, stopped, unknown };
const char* name_of(reason why);
using drop_counts = std::map<std::string, std::uint64_t>;

/// What to tell the collector about dropped records: as log records what was dropped since the last
/// report that it took; as metrics the sums.
struct drop_report {
    otlp::signal signal = signal::logs;
    drop_counts drops;
    drop_counts reported;
    /// When counting began: the time of day in nanoseconds.
    std::uint64_t since = 0;
};

/// A queue of requests of limited size, in which a file counts with whole blocks. If it is full,
/// new requests are dropped and counted. With a directory, requests are files there, which survive
/// the process:
///
///     SEQUENCE.SIGNAL.RECORDS.TOTAL
///
/// TOTAL is how many records of the ftrace instance were read up to this request, also those that
/// were dropped or need not be sent. The file `state` has what must survive the last request: which
/// one was finished, the counts of dropped records, since when they are counted, and which of them
/// the collector knows. A request is recorded as finished in `state` before its file is removed, so
/// none is sent again after a clean stop, and none is counted twice. A report of dropped records is
/// made from the counts when the report is sent. It needs no room in the queue, so a full queue
/// cannot keep a report out. Functions may be called from any thread.
class queue {
public:
    /// Makes a serialized request of a report.
    using report_maker = std::function<std::string(const drop_report&)>;

    /// Without a directory, requests are in memory. Throws text::failure, also if another process
    /// uses the directory. With `sync`, requests are on the disk when put() returns.
    queue(std::string directory, std::uint64_t size, report_maker make_report, bool sync = false);
    queue(const queue&) = delete;
    queue& operator=(const queue&) = delete;
    ~queue();

    /// Puts a request at the end. Without `ends`, does not wait; otherwise until it fits, or until
    /// ends() says so.
    void put(request added, const std::function<bool()>& ends = {});

    /// Waits until there is a request, or stop() was called. Returns a report if there is one to be
    /// sent, otherwise a copy of the oldest request. Damaged files are dropped; one that cannot be
    /// read is tried again.
    std::optional<request> front();
    /// The collector has taken what front() returned, but not `rejected` of its records.
    void finish(std::uint64_t rejected = 0);
    /// The collector takes none of it. A report is tried again with the next one.
    void refuse();
    /// Waits until the time has passed, or stop() was called. Returns false after stop().
    bool pause(double seconds);

    /// Makes front() and pause() return.
    void stop();
    bool is_stopped();
    /// Whether there is nothing to send.
    bool is_empty();

    /// Counts records that never become part of a request. The count reaches the disk with the next
    /// put() or set_lost_in_kernel(). If the process is killed before, the records count as
    /// `killed`.
    void drop(reason why, std::uint64_t records);
    /// The same for records that were not read: they are not among those of set_instance().
    void drop_unread(reason why, std::uint64_t records);
    /// Records were read that need not be sent. They are on the disk with the next put() or
    /// set_lost_in_kernel(). If the process is killed before, they count as `killed`.
    void skip(std::uint64_t records);
    /// Drops all requests.
    void clear(reason why);
    /// How many records the kernel has lost since the instance was created.
    void set_lost_in_kernel(std::uint64_t records);
    drop_counts drops();
    /// What was dropped until now is to be reported, as far as the collector does not know it.
    void report();

    /// The instance whose records the directory has; empty if there is none.
    std::string instance();
    /// Records from now on are of this instance. `read` is how many records of the instance were
    /// read before: those that the queue never got count as `killed`. Throws text::system_failure
    /// if this cannot be saved in the directory; the queue uses the instance nevertheless.
    void set_instance(const std::string& name, std::uint64_t read);

private:
    struct entry {
        std::uint64_t sequence;
        otlp::signal signal;
        std::uint64_t records;
        std::uint64_t total;
        std::uint64_t size;
        std::string body; // without a directory
    };

    void load();
    void load_state();
    int save_state();
    std::optional<signal> next_report() const;
    request report_of(signal which);
    void finish_report(drop_counts& known);
    std::string path_of(const entry& of) const;
    bool write(const entry& added, const std::string& body);
    std::optional<std::string> read(const entry& from) const;
    void remove_front(reason why, std::uint64_t dropped);
    void count(reason why, std::uint64_t records);
    void drop_new(reason why, std::uint64_t records);

    std::string directory_;
    std::uint64_t most_;
    bool sync_;
    int lock_ = -1;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<entry> entries_;
    std::uint64_t size_ = 0;
    std::uint64_t next_ = 1;
    /// Requests up to this one are finished.
    std::uint64_t finished_ = 0;
    std::uint64_t total_ = 0;
    /// What the kernel has lost that is already counted.
    std::uint64_t lost_ = 0;
    /// The first request with records of the instance.
    std::uint64_t first_ = 0;
    std::string instance_;
    drop_counts drops_;
    /// Whether `state` lacks some of this, also because it could not be written. It is written with
    /// the next request, or by set_lost_in_kernel().
    bool is_state_old_ = false;
    /// Whether neither `state` nor the name of a file counts all that need not be sent.
    bool has_unsaved_skips_ = false;
    report_maker make_report_;
    std::uint64_t since_;
    /// What is to be reported; what the collector knows, from log records and from metrics; and
    /// what it has refused to take.
    drop_counts wanted_;
    std::array<drop_counts, 2> reported_, refused_;
    /// The report that front() has returned.
    std::optional<drop_report> sending_;
    bool stopped_ = false;
    bool has_warned_ = false;
    bool is_full_ = false;
    /// The last request whose file could not be read.
    std::uint64_t unreadable_ = 0;
};

} // namespace tool::otlp
