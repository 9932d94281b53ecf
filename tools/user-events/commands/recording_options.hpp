// SPDX-License-Identifier: GPL-2.0-or-later
// Which records of a recording are read: PATTERN, --filter, --level, --keyword, parts, --raw,
// --strict.
#pragma once

#include "commands/choice_options.hpp"
#include "commands/cut_options.hpp"
#include "recording/file.hpp"

namespace tool {

class recording_options {
public:
    /// After the arguments for files.
    void declare(arguments& with) {
        with.optional_positional(
            "PATTERN", selection_.pattern,
            "only these events, such as 'order_*', 'sched:*' or 'MyProvider:Request*'");
        with.option("-f,--filter", "FILTER", selection_.filter,
                    "only records for which this is true, such as 'cents > 300'");
        choice_.declare(with);
        cut_.declare(with);
        cut_.declare_programs(with);
        with.flag("--raw", selection_.is_raw, "do not decode payloads that describe themselves");
        with.flag("--strict", is_strict_, "fail if records are missing");
    }

    /// Throws text::usage_error for values that make no sense.
    recording::selection read() const {
        recording::selection result = selection_;
        result.choice = choice_.read();
        result.cut = cut_.read();
        return result;
    }
    bool is_strict() const noexcept { return is_strict_; }

private:
    recording::selection selection_;
    choice_options choice_;
    cut_options cut_;
    bool is_strict_ = false;
};

} // namespace tool
