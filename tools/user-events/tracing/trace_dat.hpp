// SPDX-License-Identifier: GPL-2.0-or-later
// Writing trace.dat files.
#pragma once

#include "tracing/tracefs.hpp"
#include "tracing/wall_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool::tracing {

/// Throws text::failure for `path` if the disk of the file `on_disk` has no space for `copies` of
/// what the instance has recorded, and `head` more bytes. `at_most` is the number of bytes that the
/// instance can hold: if so many fit, the function does not ask the instance.
void require_space_for(const instance& from, const std::string& on_disk, const std::string& path,
                       std::uint64_t at_most, unsigned copies = 1, std::uint64_t head = 0);

/// Takes what an instance records into a file for each CPU. These hold what was recorded if the
/// process is killed.
class cpu_files {
public:
    /// Files of the name PATH.cpuN. Throws text::failure. With `again`, appends to those that
    /// exist.
    cpu_files(const instance& from, const std::string& path, bool again);
    /// The same for the instance's snapshot.
    static cpu_files of_snapshot(const instance& from, const std::string& path);
    cpu_files(cpu_files&&) noexcept;
    ~cpu_files();

    /// From now on, take() leaves so many bytes of the disk to others.
    void reserve(std::uint64_t bytes) noexcept { reserved_ = bytes; }
    /// Takes what is there, in whole pages. Throws text::failure. What the disk has no space for
    /// stays in the instance, which has to exist.
    void take();
    /// Takes the rest, also what is not a whole page yet. Of an instance that goes on recording,
    /// what comes while this function runs may be left.
    void take_rest(bool goes_on);

    /// Of an instance that overwrites its oldest records, leaves out those that are older than
    /// so many nanoseconds before the newest one; what was overwritten does not count as lost.
    /// Returns how much time before the newest record the files cover on all CPUs; nothing if they
    /// have no record.
    std::optional<std::uint64_t> keep_newest(std::uint64_t age);

    std::uint64_t size() const noexcept { return size_; }
    /// How many records the files have. Reads them.
    std::uint64_t records() const;
    /// How far the time of day was from CLOCK_MONOTONIC when the files were opened.
    std::int64_t clock_offset() const noexcept { return clock_offset_; }
    /// Of the pages in the files.
    std::size_t page_size() const noexcept;
    /// The files, one for each CPU.
    std::vector<int> descriptors() const;
    /// Removes the files.
    void remove() noexcept;

private:
    struct cpu;
    cpu_files();
    void require_space() const;
    void add(const instance& from, int cpu, const char* source, const std::string& path,
             bool again);

    std::vector<cpu> cpus_;
    std::uint64_t size_ = 0;
    const instance* from_ = nullptr;
    std::uint64_t capacity_ = 0;
    std::uint64_t reserved_ = 0;
    std::int64_t clock_offset_ = wall_clock().offset();
};

/// What a file is made of.
struct trace_dat {
    std::string path;
    /// The kernel's own events, SYSTEM/EVENT, whose formats it has besides those of all user
    /// events.
    std::vector<std::string> kernel_events;
    /// Whether the file gets the names of the kernel's functions. With `kernel_events`, it gets
    /// them in any case.
    bool has_functions = false;
    /// What frame_list has as text.
    std::string frames = {};
};

/// A file with the formats of what an instance records at present.
trace_dat describe(const std::string& path, const instance& in);

/// Throws text::failure if a file of this name cannot be made, or one that exists not be kept.
void require_output(const std::string& path);

/// How many bytes write_trace_dat() would write before the records, at present. Throws
/// text::failure.
std::uint64_t head_size(const trace_dat& what, const instance& from);

/// Puts the files together. A file that had the name before is then PATH.old. The events have to
/// exist. Throws text::failure.
void write_trace_dat(const trace_dat& what, const instance& from, const cpu_files& files);

} // namespace tool::tracing
