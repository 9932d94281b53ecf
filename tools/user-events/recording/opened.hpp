// SPDX-License-Identifier: GPL-2.0-or-later
// What a command reads records from: a file of either kind, or several of trace-cmd's format.
#pragma once

#include "recording/file.hpp"
#include "recording/perf_data.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tool::recording {

/// A recording, or several that are read as one.
class opened_recording {
public:
    /// A path may be that of a recording in parts, PATH.000001 and so on, if there is no such file.
    /// `align` is for merged. May wait, if a file is a FIFO. Throws failure if a file cannot be
    /// opened, and usage_error for a file that is there twice.
    explicit opened_recording(const std::vector<std::string>& paths, std::string align = {});

    /// What it is called in messages and titles.
    const std::string& name() const noexcept { return name_; }
    /// Of all files, in bytes, without holes.
    std::uint64_t size() const noexcept;

    /// Starts perf, if it is needed. To be called before isolate(), with the signals held.
    void start(bool is_raw);
    /// In the process that reads.
    std::unique_ptr<source> read(const selection& selection) const;
    /// After all was read. Throws text::failure if perf has failed.
    void finish();

private:
    std::vector<std::unique_ptr<input>> inputs_;
    std::string align_;
    std::string name_;
    std::optional<perf_script> perf_;
};

/// Whether a file begins as a recording of either kind does, or the path is that of parts.
bool is_recording(const std::string& path);

} // namespace tool::recording
