// SPDX-License-Identifier: GPL-2.0-only
// Recordings: files of trace-cmd's format, trace.dat.
#pragma once

#include "recording/mapped_pages.hpp"
#include "recording/record.hpp"
#include "recording/thread_list.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct tep_event_filter;
struct tep_handle;
struct tep_record;
struct tracecmd_input;

namespace tool::recording {

/// Which records of a file are read.
struct selection {
    std::string pattern; // of events, as in matches(); empty for all
    std::string filter;  // as in the kernel; empty for none
    bool is_raw = false; // show only what the formats describe, not what payloads describe
};

/// Whether a pattern of the shell (`order_*`, `sched:*`) is that of this event. A pattern without a
/// colon concerns the event's name only. A multi-format event is found by its registered name,
/// `order`, and by that of one format, `order.1`.
bool matches(const std::string& pattern, const event_type& event);

/// A recording. Reads it with libtracecmd, which trusts its files: call isolate() before.
class file {
public:
    /// Throws failure if the file cannot be read or is no recording, and usage_error if the filter
    /// makes no sense.
    file(const std::string& path, const selection& selection);
    file(const file&) = delete;
    file& operator=(const file&) = delete;
    ~file() = default;

    /// Calls the function for the selected records of all instances, in the order of their times.
    /// What the function throws is passed on.
    void read(std::function<void(const record&)> function);

    /// From now on, a signal that would end the process makes read() throw text::ended_by_signal,
    /// so that destructors remove what is not complete. A second signal ends the process.
    static void end_by_signals();

    /// After read(): what the function did not get.
    struct gaps {
        /// Records that the kernel dropped, as far as it has counted them.
        std::uint64_t lost = 0;
        /// How often it has dropped records.
        std::uint64_t times = 0;
        /// Records of events whose format the file lacks.
        std::uint64_t unknown = 0;
    };
    const gaps& missing() const noexcept { return missing_; }

    /// Warns about missing records, on standard error. If there are any, throws
    /// text::silent_failure if `is_strict` says so.
    void warn_about_gaps(bool is_strict = false) const;

private:
    struct known_event {
        std::unique_ptr<event_type> type; // nullptr if the file lacks the format
        bool is_selected = false;
        bool is_filtered = false;
    };
    struct task {
        std::string_view name;
        int tgid = 0;
    };

    static int take(tracecmd_input* handle, tep_record* from, int cpu, void* file);
    void take(tracecmd_input* handle, tep_record& from);
    known_event& event_of(int id);
    task& task_of(int pid);
    void require_names() const;
    void add_filter(const std::string& filter);
    bool passes_filter(const event_type& type, tep_record& from) const;
    void learn_thread(const event_type& type, bytes data, int parent);

    struct closer {
        void operator()(tracecmd_input* input) const noexcept;
        void operator()(tep_event_filter* filter) const noexcept;
    };

    std::string path_;
    selection selection_;
    /// The top-level instance, and then the others.
    std::vector<std::unique_ptr<tracecmd_input, closer>> instances_;
    tep_handle* tep_ = nullptr;
    std::unique_ptr<tep_event_filter, closer> filter_;
    std::unordered_map<int, known_event> events_;
    thread_list threads_;
    std::unordered_map<int, task> tasks_;
    std::function<void(const record&)> function_;
    mapped_pages pages_;
    std::exception_ptr error_;
    bool cannot_map_ = false;
    gaps missing_;
};

/// Lets a child process go on with the work, and passes on signals to it. If it crashes, which
/// damaged files cause in libtracecmd and incomplete filters in libtraceevent, this process says so
/// and fails. Otherwise it ends as the child does.
void isolate(const std::string& path, const std::string& filter);

} // namespace tool::recording
