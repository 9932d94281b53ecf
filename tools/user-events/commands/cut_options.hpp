// SPDX-License-Identifier: GPL-2.0-or-later
// The options --from-time, --to-time, --cpu, --align, --pid and --comm of recordings.
#pragma once

#include "cli.hpp"
#include "recording/cut.hpp"

#include <string>
#include <vector>

namespace tool {

class cut_options {
public:
    void declare(arguments& with);
    /// --align.
    void declare_align(arguments& with);
    /// --pid and --comm.
    void declare_programs(arguments& with);

    /// Whether one of the options of declare() and declare_align() was given.
    bool is_given() const noexcept;
    /// Throws text::usage_error for values that make no sense.
    recording::cut read() const;
    /// The text of a mark; empty for none.
    const std::string& align() const noexcept { return align_; }

private:
    std::string from_;
    std::string to_;
    std::string cpus_;
    std::string align_;
    std::vector<std::string> processes_;
    std::string comm_;
};

} // namespace tool
