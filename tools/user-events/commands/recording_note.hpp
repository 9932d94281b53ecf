// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of a recording while it is made, also after the process was killed.
#pragma once

#include "tracing/trace_dat.hpp"
#include "tracing/tracefs.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace tool {

/// What an instance has recorded, since the recording began. Of one that is mounted, others may
/// have read records before.
class progress {
public:
    /// What there was when the recording began: all numbers of a new instance are 0.
    struct beginning {
        std::uint64_t records = 0;
        std::uint64_t lost = 0;
    };

    explicit progress(const tracing::instance& in);
    progress(const tracing::instance& in, const beginning& since) : in_(in), since_(since) {}

    const beginning& since() const noexcept { return since_; }

    /// Shows the progress on a terminal, at most twice a second. `size` is how many bytes the files
    /// have.
    void show(std::uint64_t size);
    /// Says what the files have, and what helps if records were lost. `killed` is how many records
    /// a killed process has taken out of the instance, and not written.
    void say_end(const std::string& files, std::uint64_t killed = 0) const;

private:
    std::uint64_t records() const;
    std::uint64_t lost() const;

    const tracing::instance& in_;
    beginning since_;
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now();
};

/// Goes back to the beginning of the terminal's line, and clears the line; empty without one.
const char* same_line();

/// The file FILE.recording. It says which instance records into FILE, for --recover, and is locked
/// by the process that writes FILE. A name that begins with a slash is the directory of a mounted
/// instance; the second line has what there was when the recording began, and the number of its
/// first part, 0 if it has none; the third line has the number of the present part, and how many
/// records had been taken out of the instance when it began.
class recording_note {
public:
    /// Throws text::failure if another process records into FILE, or if FILE.recording exists and
    /// is not a note of `user-events record`.
    explicit recording_note(const std::string& output);
    recording_note(const recording_note&) = delete;
    recording_note& operator=(const recording_note&) = delete;
    ~recording_note();

    /// The instance whose records are in the files; empty if there is none.
    const std::string& instance() const noexcept { return instance_; }
    bool is_mounted() const noexcept { return instance_.starts_with('/'); }
    const progress::beginning& since() const noexcept { return since_; }
    std::uint64_t first_part() const noexcept { return first_part_; }
    void set_instance(const std::string& name, const progress::beginning& since,
                      std::uint64_t first_part);
    /// To be called when all that was taken before is in the files of the parts before.
    void begin_part(std::uint64_t number, std::uint64_t taken);
    /// How many records a killed process took and did not write. `taken`: records taken out of the
    /// instance by now. `files`: the files of the last part, whose number is `number`.
    std::uint64_t killed(std::uint64_t taken, std::uint64_t number,
                         const tracing::cpu_files& files) const;
    const std::string& path() const noexcept { return path_; }
    void remove() noexcept;

    /// Throws text::failure if the files are of a recording that can be finished.
    void refuse_interrupted() const;

private:
    std::string output_;
    std::string path_;
    std::string instance_;
    progress::beginning since_;
    std::uint64_t first_part_ = 0;
    std::uint64_t part_ = 0;
    /// How many records had been taken out of the instance when the part began. With a note that
    /// lacks this number, no record counts as killed.
    std::uint64_t taken_ = ~std::uint64_t{0};
    bool is_removed_ = false;
    int file_;
};

} // namespace tool
