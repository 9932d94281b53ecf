// SPDX-License-Identifier: GPL-2.0-or-later
// Which records of a recording are read: PATTERN, --filter, --level, --keyword, parts, --raw,
// --strict.
#pragma once

#include "commands/choice_options.hpp"
#include "commands/cut_options.hpp"
#include "recording/opened.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tool {

class recording_options {
public:
    /// FILE... and PATTERN, and the options.
    void declare_files(arguments& with) {
        with.required_positionals("FILE", words_,
                                  "recordings, and a PATTERN: only these events, such as "
                                  "'order_*', 'sched:*' or 'MyProvider:Request*'");
        cut_.declare_align(with);
        declare_others(with);
    }
    /// To be called after the arguments for files were declared.
    void declare(arguments& with) {
        with.optional_positional(
            "PATTERN", selection_.pattern,
            "only these events, such as 'order_*', 'sched:*' or 'MyProvider:Request*'");
        declare_others(with);
    }

    /// Opens the files, after read().
    recording::opened_recording open() const {
        return recording::opened_recording(words_, cut_.align());
    }

    /// Throws text::usage_error for values that make no sense.
    recording::selection read() {
        recording::selection result = selection_;
        if (has_pattern()) {
            result.pattern = std::move(words_.back());
            words_.pop_back();
        }
        result.choice = choice_.read();
        result.cut = cut_.read();
        return result;
    }
    bool is_strict() const noexcept { return is_strict_; }

private:
    /// Whether the last word is a pattern: it neither is a recording nor seems to be meant as one.
    bool has_pattern() const {
        const auto kind = [](const std::string& word) {
            return std::filesystem::path(word).extension();
        };
        return words_.size() > 1 && !recording::is_recording(words_.back()) &&
               (kind(words_.back()).empty() || kind(words_.back()) != kind(words_.front()));
    }
    void declare_others(arguments& with) {
        with.option("-f,--filter", "FILTER", selection_.filter,
                    "only records for which this is true, such as 'cents > 300'");
        choice_.declare(with);
        cut_.declare(with);
        cut_.declare_programs(with);
        with.flag("--raw", selection_.is_raw, "do not decode payloads that describe themselves");
        with.flag("--strict", is_strict_, "fail if records are missing");
    }

    std::vector<std::string> words_;
    recording::selection selection_;
    choice_options choice_;
    cut_options cut_;
    bool is_strict_ = false;
};

} // namespace tool
