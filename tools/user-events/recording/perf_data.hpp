// SPDX-License-Identifier: GPL-2.0-or-later
// Files of perf. perf reads them: `perf script` runs with the filter of tools/perf-dlfilter, which
// prints what is needed of each event.
#pragma once

#include "recording/file.hpp"
#include "recording/perf_file.hpp"
#include "tracing/child_process.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tool::recording {

/// perf while it reads a file. It is not in the sandbox of isolate().
class perf_script {
public:
    /// Starts perf. Throws text::failure if it or the filter cannot be found.
    perf_script(const input& from, bool is_raw);
    perf_script(const perf_script&) = delete;
    perf_script& operator=(const perf_script&) = delete;
    /// Ends perf.
    ~perf_script();

    const std::string& path() const noexcept { return path_; }
    const perf_file& facts() const noexcept { return facts_; }
    /// What perf prints.
    int descriptor() const noexcept { return output_; }
    /// What each line with a record begins with. Programs cannot know it, so that no text of theirs
    /// looks like a record.
    const std::string& mark() const noexcept { return mark_; }
    /// After all was read. Throws text::failure if perf has failed.
    void finish();

private:
    std::string path_;
    perf_file facts_;
    std::string mark_;
    int output_ = -1;
    std::optional<tracing::child_process> perf_;
};

/// The records of a perf.data file. Events whose payloads describe themselves are decoded. Others
/// have one field, `trace`, with what perf prints of them.
class perf_data final : public source {
public:
    /// `script` has to exist as long as the object. Throws text::usage_error if the filter makes no
    /// sense.
    perf_data(const perf_script& script, const selection& selection);

    void read(const std::function<void(const record&)>& take,
              const std::function<void(const gap&)>& miss = {}) override;
    void warn_about_gaps(bool is_strict = false) const override;

private:
    void take(const std::string& text);
    void take_stack(std::string_view lines);
    void finish_record();
    const event_type& type_of(const std::string& name, bool is_described);
    bool selects(const record& record);

    const perf_script& script_;
    selection selection_;
    cutter cutter_;
    bool has_begun_ = false, has_no_times_ = false;
    std::vector<eventheader::event_pattern> described_;
    std::optional<eventheader::filter> filter_;
    std::function<void(const record&)> function_;
    std::map<std::pair<std::string, bool>, std::unique_ptr<event_type>> types_;
    // The record whose lines are read.
    bool has_record_ = false;
    record record_{};
    recording::stack stack_;
    std::string task_;
    std::string text_;
    std::string data_;
};

} // namespace tool::recording
