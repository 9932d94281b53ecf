// SPDX-License-Identifier: GPL-2.0-or-later
// Several recordings, of one machine or of several, that are read as one.
#pragma once

#include "recording/file.hpp"
#include "text/errors.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tool::recording {

/// The records of several files in the order of their times. Machines are told apart: `host` of a
/// record has the name, and the numbers of the threads of the second machine are larger by
/// record::machine_distance, and so on. Events with the same name and format are one event.
class merged final : public source {
public:
    /// The inputs have to exist as long as the object. If `align` is not empty, times are moved so
    /// that the first marks with this text are at the same time on all machines. Throws
    /// text::failure, also if the times of the files cannot be compared, or if there are too many
    /// machines for their numbers of threads.
    merged(const std::vector<std::unique_ptr<input>>& from, const selection& selection,
           const std::string& align);

    void read(const std::function<void(const record&)>& take,
              const std::function<void(const gap&)>& miss = {}) override;
    void warn_about_gaps(bool is_strict = false) const override;
    std::uint64_t lost() const override;
    std::string host() const override;

private:
    struct machine {
        std::string key, host, path;
    };
    struct part {
        std::unique_ptr<recording::file> file;
        std::size_t machine;
        bool is_chosen; // whether the file has one of the chosen events
    };

    void open(const input& from, const selection& selection);
    std::size_t machine_of(const file_head& head, const std::string& path);
    void require_one_clock() const;
    void align(const std::string& text);
    cut resolved(const cut& cut) const;
    const event_type* shared(const event_type& type);
    void take(const record& from, std::size_t machine,
              const std::function<void(const record&)>& function);

    std::vector<machine> machines_;
    std::vector<part> parts_;
    std::optional<text::usage_error> not_chosen_;
    std::vector<std::unique_ptr<event_type>> types_;
    std::map<const event_type*, const event_type*> shared_;
};

/// Calls source::warn_about_gaps() for each, and throws after the last one what one has thrown.
void warn_about_gaps(const std::vector<const source*>& sources, bool is_strict);

} // namespace tool::recording
