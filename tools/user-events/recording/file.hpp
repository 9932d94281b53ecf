// SPDX-License-Identifier: GPL-2.0-or-later
// Recordings: files of trace-cmd's format, trace.dat.
#pragma once

#include "eventheader/choice.hpp"
#include "eventheader/payload_filter.hpp"
#include "recording/cut.hpp"
#include "recording/file_head.hpp"
#include "recording/kernel_text.hpp"
#include "recording/record.hpp"
#include "recording/sampled_list.hpp"
#include "recording/stack.hpp"
#include "recording/thread_list.hpp"
#include "text/errors.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct tep_handle;

namespace tool::recording {

/// Which records of a file are read.
struct selection {
    std::vector<std::string> patterns; // of events, as in matches() or `Provider:Event`
    std::string filter;                // as in the kernel; empty for none
    bool is_raw = false; // show only what the formats describe, not what payloads describe
    eventheader::choice choice = {};
    recording::cut cut = {};
};

/// Whether one of the patterns of the shell (`order_*`, `sched:*`) is that of this event, as all
/// are if there is none. A pattern without a
/// colon concerns the event's name only. A multi-format event is found by its registered name,
/// `order`, and by that of one format, `order.1`.
bool matches(const std::vector<std::string>& patterns, const event_type& event);

/// A recording that is open, and of which nothing was parsed. No output of this process replaces
/// the file.
class input {
public:
    /// Throws failure if the file cannot be opened.
    explicit input(std::string path);
    input(const input&) = delete;
    input& operator=(const input&) = delete;
    ~input();

    const std::string& path() const noexcept { return path_; }
    int descriptor() const noexcept { return descriptor_; }
    /// In bytes; 0 if it is no regular file.
    std::uint64_t size() const noexcept { return size_; }
    /// How many of these the disk has: a sparse file has holes.
    std::uint64_t size_on_disk() const noexcept { return size_on_disk_; }

private:
    std::string path_;
    int descriptor_;
    std::uint64_t size_ = 0, size_on_disk_ = 0;
};

/// A part of a recording cannot be read. All records that can be read were passed on before.
class damaged_file : public text::failure {
public:
    using failure::failure;
};

/// The records of a recording.
class source {
public:
    source() = default;
    source(const source&) = delete;
    source& operator=(const source&) = delete;
    virtual ~source() = default;

    /// Calls the first function for the selected records of all instances, in the order of their
    /// times, and the second one, if there is one, for records that are missing. What the functions
    /// throw is passed on. After the last record, throws damaged_file if some cannot be read.
    virtual void read(const std::function<void(const record&)>& take,
                      const std::function<void(const gap&)>& miss = {}) = 0;
    /// To call after everything was written. Warns about missing records, on standard error, and
    /// about fields that the filter names and no record had. If records are missing, throws
    /// text::silent_failure with the status complete_but_failed if `is_strict` says so.
    virtual void warn_about_gaps(bool is_strict = false) const = 0;
    /// After read(): how many records the kernel has dropped, as far as it has counted them.
    virtual std::uint64_t lost() const { return 0; }
    /// The machine, if all records are of one whose name is known; else empty.
    virtual std::string host() const { return {}; }
};

/// A recording of trace-cmd's format. libtraceevent parses the formats of its events, and trusts
/// them: see isolate().
class file final : public source {
public:
    /// `from` has to exist as long as the object. Throws failure if it is no recording, and
    /// usage_error if the filter makes no sense.
    file(const input& from, const selection& selection);

    void read(const std::function<void(const record&)>& take,
              const std::function<void(const gap&)>& miss = {}) override;

    /// What read() does, in steps, so that several files can be read at a time: call begin(), then
    /// take_next() as long as next_time() returns a time, then end().
    void begin();
    std::optional<std::uint64_t> next_time() const;
    void take_next(const std::function<void(const record&)>& take,
                   const std::function<void(const gap&)>& miss);
    void end();

    const file_head& head() const noexcept { return head_; }
    const std::string& path() const noexcept { return from_.path(); }
    /// Replaces the cut of the selection.
    void choose(const cut& cut) { selection_.cut = cut; }
    /// The time of the first record, selected or not.
    std::optional<std::uint64_t> first_time();
    /// The time of the first mark with this text.
    std::optional<std::uint64_t> find_mark(const std::string& text) const;
    /// Adds to all times.
    void shift(std::int64_t by) noexcept { head_.clock.offset += static_cast<std::uint64_t>(by); }

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

    void warn_about_gaps(bool is_strict = false) const override;
    std::uint64_t lost() const override { return missing_.lost; }
    std::string host() const override { return head_.host; }

private:
    struct known_event {
        std::unique_ptr<event_type> type; // nullptr if the file lacks the format
        bool is_selected = false;
        /// Whether the pattern is that of an event in the payload.
        bool is_by_name = false;
        bool is_stack = false;
        /// Whether its records have names of the kernel's functions, or texts of the kernel.
        bool has_kernel_texts = false;
    };
    struct task {
        std::string name;
        int tgid = 0;
    };

    void open_buffers();
    /// A record that was copied out of its buffer, and the stack behind it.
    struct held_record {
        std::uint64_t time = 0;
        int cpu = 0;
        std::vector<std::byte> data;
        record_head head{};
        recording::stack stack;
        bool has_stack = false;
    };
    const known_event* stack_of(const record_head& head);
    void add_stack_field(known_event& to) const;
    void take(held_record& held, std::string_view instance,
              const std::function<void(const record&)>& function);
    void take_stacks(held_record& of, merged_buffers& buffers, std::size_t number);
    kernel_text_files texts() const;
    known_event& event_of(int id);
    task& task_of(int pid);
    void read_tasks();
    void require_names();
    void warn_of_unknown_cpus() const;
    bool may_select(const std::vector<std::string>& patterns, const event_type& type) const;
    bool may_pass(const event_type& type) const;
    bool selects(const known_event& event, const record& record);
    void set_times(std::uint64_t start);
    void learn_thread(const event_type& type, bytes data, int parent);

    struct closer {
        void operator()(tep_handle* handle) const noexcept;
    };

    const input& from_;
    selection selection_;
    file_head head_;
    std::unique_ptr<tep_handle, closer> tep_;
    cutter cutter_;
    std::optional<eventheader::filter> filter_;
    std::vector<eventheader::event_pattern> described_;
    bool has_described_ = false;
    eventpipe::known_events known_events_;
    std::unordered_map<int, known_event> events_;
    thread_list threads_;
    sampled_list sampled_;
    std::optional<stack_reader> stacks_;
    kernel_texts texts_{[this] { return texts().functions; }, [this] { return texts().formats; }};
    /// The numbers of the events whose records are stacks.
    std::vector<int> stack_ids_;
    std::unordered_map<int, std::string> task_names_;
    std::unordered_map<int, task> tasks_;
    /// What is being read: the buffers, and of each, the instance and the time of the last record.
    merged_buffers buffers_;
    std::vector<const std::string*> instances_;
    std::vector<std::uint64_t> last_;
    held_record held_;
    /// Whether a part of the file cannot be read.
    bool is_damaged_ = false;
    gaps missing_;
};

/// Warns if the file's times are none, and if the time of day, of which they are made, was set
/// while the recording was made. `remedy` is for the latter.
void warn_about_times(const file& from, const std::string& remedy);

} // namespace tool::recording
