// SPDX-License-Identifier: GPL-2.0-or-later
// A recording in several files, PATH.000001 and so on: each is complete, and they have no record
// twice.
#pragma once

#include "tracing/signals.hpp"
#include "tracing/trace_dat.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tool::tracing {

/// PATH.000001. The names sort as their numbers.
std::string part_name(const std::string& path, std::uint64_t number);

/// The numbers of what has the name of a part, or of a part with this behind it, in order.
std::vector<std::uint64_t> part_numbers(const std::string& path, std::string_view suffix = {});

/// The command of a shell that makes a file of the records of each CPU, PATH.cpu0 and so on with
/// this behind them. trace-cmd numbers the CPUs in the order of the files.
std::string restore_command(const std::string& path, std::string_view suffix = {});

/// Removes what a part that was not finished has left: the records of each CPU.
void remove_unfinished(const std::string& path, std::uint64_t number);

/// Renames what a recording has left that cannot be finished any more: the records of each CPU are
/// then PATH.cpu0.old and so on. Says so. Throws text::failure.
void set_aside_unfinished(const std::string& path);

/// Removes the oldest files with the name of a part, until so many are left.
void keep_parts(const std::string& path, std::uint64_t most);

/// Writes a part while the next one is recorded.
class part_writer {
public:
    /// Parts of the recording `path`. `most` is how many files stay.
    part_writer(std::string path, std::uint64_t most);
    ~part_writer();

    /// Whether the last part is still being written.
    bool is_busy() const noexcept;
    /// Writes the part, and removes old ones when it is complete. If that fails, the process gets
    /// SIGTERM. The instance has to exist until finish().
    void start(trace_dat what, const instance& from, cpu_files files);
    /// Waits for the part. Throws what has failed.
    void finish();

private:
    struct job;
    std::string path_;
    std::uint64_t most_;
    std::unique_ptr<job> job_;
};

} // namespace tool::tracing
