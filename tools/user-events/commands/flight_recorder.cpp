// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/flight_recorder.hpp"

#include "commands/recording_note.hpp"
#include "recording/statistics.hpp"
#include "text/errors.hpp"
#include "text/output.hpp"
#include "tracing/buffers.hpp"

#include <fmt/format.h>
#include <string>
#include <utility>

namespace tool {

flight_recorder::flight_recorder(const record_options& given, const tracing::instance& in,
                                 recorded_files& files)
    : given_(given), in_(in), files_(files), triggers_(in, given.stop_conditions()) {}

bool flight_recorder::take() {
    // Of programs that ended long before the trigger, this forgets what they had mapped, although
    // no record was read: with every program since the beginning, the memory would have no limit.
    files_.take_stacks();
    if (in_.try_read("tracing_on").value_or("1")[0] != '0')
        return false;
    const auto seconds = files_.keep_newest(given_.last);
    if (!seconds) {
        // A program wrote the event while the instance was stopped, and came to the trigger when
        // the next file had begun: the kernel runs triggers of records that it does not make.
        in_.write("tracing_on", "1");
        return false;
    }
    has_written_ = true;
    is_complete_ = !given_.has_parts();
    std::string written;
    if (is_complete_) {
        written = files_.finish();
    } else {
        written = files_.next();
        in_.write("tracing_on", "1");
    }
    text::say(fmt::format("{}{}: the last {} before the trigger\n", same_line(), written,
                          recording::as_time(*seconds)));
    const auto overwritten = tracing::lost_records(in_);
    if (given_.last > 0 && *seconds < given_.last &&
        overwritten > std::exchange(overwritten_, overwritten))
        text::warn(fmt::format("the buffers have not held {} s", given_.last),
                   "--buffer makes them larger");
    return is_complete_;
}

void flight_recorder::finish() {
    // Of the file that was written last, or of the next trigger, which has not come.
    files_.remove();
    if (!has_written_)
        throw text::failure("no trigger came: nothing was written",
                            "without --on, record writes all until its end");
}

} // namespace tool
