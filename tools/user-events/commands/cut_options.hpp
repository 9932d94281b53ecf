// SPDX-License-Identifier: GPL-2.0-or-later
// The options --from-time, --to-time, --cpu, --pid and --comm of a recording.
#pragma once

#include "cli.hpp"
#include "recording/cut.hpp"

#include <string>
#include <vector>

namespace tool {

class cut_options {
public:
    void declare(arguments& with);
    /// --pid and --comm.
    void declare_programs(arguments& with);

    /// Whether one of the options of declare() was given.
    bool is_given() const noexcept;
    /// Throws text::usage_error for values that make no sense.
    recording::cut read() const;

private:
    std::string from_;
    std::string to_;
    std::string cpus_;
    std::vector<std::string> processes_;
    std::string comm_;
};

} // namespace tool
