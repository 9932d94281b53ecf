// SPDX-License-Identifier: GPL-2.0-or-later
// Recordings of what was before an event: record --on.
#pragma once

#include "commands/recorded_files.hpp"
#include "tracing/stop_triggers.hpp"
#include "tracing/tracefs.hpp"

namespace tool {

/// Waits until the kernel has stopped the instance, and writes what it has recorded before.
class flight_recorder {
public:
    flight_recorder(const record_options& given, const tracing::instance& in,
                    recorded_files& files);

    /// Returns whether all is written that was wanted.
    bool take();
    /// At the end of the recording. Throws text::failure if no trigger has come.
    void finish();

private:
    const record_options& given_;
    const tracing::instance& in_;
    recorded_files& files_;
    tracing::stop_triggers triggers_;
    bool has_written_ = false, is_complete_ = false;
    /// How many records had been overwritten at the last trigger.
    std::uint64_t overwritten_ = 0;
};

} // namespace tool
