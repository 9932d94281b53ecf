// SPDX-License-Identifier: GPL-2.0-or-later
// Which records of a recording are read: PATTERN, --filter, --level, --keyword, parts, --raw,
// --strict.
#pragma once

#include "commands/choice_options.hpp"
#include "commands/cut_options.hpp"
#include "recording/opened.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tool {

class recording_options {
public:
    /// FILE... and PATTERN..., and the options.
    void declare_files(arguments& with) {
        with.positionals("FILE", words_,
                         "recordings (default: trace.dat), and PATTERNs: only these events, such "
                         "as 'order_*', 'sched:*' or 'MyProvider:Request*'");
        cut_.declare_align(with);
        declare_others(with);
    }
    /// To be called after the arguments for files were declared.
    void declare(arguments& with) {
        with.positionals(
            "PATTERN", selection_.patterns,
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
        const auto is_file = [this](const std::string& word) { return !is_pattern(word); };
        const auto patterns = std::find_if(words_.rbegin(), words_.rend(), is_file).base();
        if (words_.end() != patterns) {
            result.patterns.assign(patterns, words_.end());
            words_.erase(patterns, words_.end());
        }
        if (words_.empty())
            words_.emplace_back("trace.dat");
        result.choice = choice_.read();
        result.cut = cut_.read();
        return result;
    }
    bool is_strict() const noexcept { return is_strict_; }

private:
    /// Whether a word neither is a recording nor seems to be meant as one.
    bool is_pattern(const std::string& word) const {
        const auto kind = [](const std::string& name) {
            return std::filesystem::path(name).extension();
        };
        const bool is_first = &word == words_.data();
        // Without the file that is the default, the first word was meant as the file.
        const bool has_file = is_first ? recording::is_recording("trace.dat") : true;
        const std::string first = is_first ? "trace.dat" : words_.front();
        return has_file && !recording::is_recording(word) &&
               !(is_first && std::filesystem::exists(word)) && word.find('/') == word.npos &&
               (kind(word).empty() || kind(word) != kind(first));
    }
    void declare_others(arguments& with) {
        with.option("-f,--filter", "FILTER", selection_.filter,
                    "only records for which this is true, such as 'cents > 300'");
        choice_.declare(with);
        cut_.declare(with);
        cut_.declare_programs(with);
        with.flag("--raw", selection_.is_raw, "show payloads of EventHeader and .NET as bytes");
        with.flag("--strict", is_strict_, "fail if records are missing");
    }

    std::vector<std::string> words_;
    recording::selection selection_;
    choice_options choice_;
    cut_options cut_;
    bool is_strict_ = false;
};

} // namespace tool
