// SPDX-License-Identifier: GPL-2.0-or-later
// The files of a recording that is being made: one, or a part after the other.
#pragma once

#include "commands/record_options.hpp"
#include "commands/recording_note.hpp"
#include "tracing/parts.hpp"
#include "tracing/stacks.hpp"
#include "tracing/trace_dat.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tool {

class recorded_files {
public:
    /// `what` is what the files are made of. The other objects have to exist as long as this one.
    /// The caller has to call set_instance() of the note before the first part is complete.
    recorded_files(const record_options& given, const tracing::instance& in,
                   tracing::trace_dat what, recording_note& note);

    /// The number of the first part; 0 if there are no parts.
    std::uint64_t first() const noexcept { return first_; }
    /// Of all files.
    std::uint64_t size() const noexcept { return size_ + files_->size(); }

    /// Takes what was recorded. A part that is full is written while the next one is recorded.
    /// While the previous part is still being written, the present part is not ended, and grows.
    /// Returns whether no more is wanted.
    bool take();
    /// Takes what programs have mapped.
    void take_stacks() {
        if (stacks_)
            stacks_->take(*files_);
    }
    /// Takes the rest of a stopped instance, and drops records that are more than `seconds` older
    /// than its newest one (0: none). Returns how many seconds there are; nothing if there is no
    /// record.
    std::optional<double> keep_newest(double seconds);
    /// Goes on with the next part. Returns what the one before is called.
    std::string next();
    /// Returns what the files are called. remove() is for what they were made of.
    std::string finish();
    void remove() noexcept { files_->remove(); }

private:
    using clock = std::chrono::steady_clock;

    bool is_full() const noexcept { return given_.size && files_->size() >= given_.size; }
    std::string path() const {
        return number_ ? tracing::part_name(given_.output, number_) : given_.output;
    }
    tracing::trace_dat present();
    void begin();
    void begin_next();

    const record_options& given_;
    const tracing::instance& in_;
    tracing::trace_dat what_;
    recording_note& note_;
    std::uint64_t kept_;
    std::uint64_t first_ = 0, number_ = 0;
    std::uint64_t size_ = 0;
    /// How many bytes the part that is being written needs on the disk.
    std::uint64_t written_size_ = 0;
    /// How many bytes a part has before its records.
    std::uint64_t head_size_ = 0;
    clock::time_point end_ = clock::now();
    std::optional<tracing::cpu_files> files_;
    std::optional<tracing::stacks> stacks_;
    tracing::part_writer writer_;
};

} // namespace tool
