// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks that an instance records behind its records.
#pragma once

#include "tracing/mappings.hpp"
#include "tracing/trace_dat.hpp"
#include "tracing/tracefs.hpp"

#include <optional>
#include <string>

namespace tool::tracing {

/// Whose stacks are recorded.
struct wanted_stacks {
    bool is_user = false;
    bool is_kernel = false;

    bool is_any() const noexcept { return is_user || is_kernel; }
};

/// Stacks of an instance of the caller's own.
class stacks {
public:
    /// Has the instance record them. Throws text::failure if the kernel cannot.
    stacks(const instance& of, const wanted_stacks& wanted);

    /// To be called every now and then.
    void take() {
        if (mappings_)
            mappings_->take();
    }
    /// The functions in the stacks of the files, as the text that a file gets, see frame_list. To
    /// be called after all was recorded.
    std::string names(const cpu_files& files);

private:
    const instance& of_;
    std::optional<mappings> mappings_;
};

} // namespace tool::tracing
