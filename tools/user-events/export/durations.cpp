// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/durations.hpp"

#include <fmt/format.h>
#include <utility>

namespace tool::exporting {

namespace {

/// A program may make a new name with each slice, and may never end one.
constexpr std::size_t most_names = 10'000, most_depth = 1'000;

} // namespace

void durations::add(const std::string& name, std::uint64_t begin, std::uint64_t end) {
    // Times go back in a damaged file.
    if (end < begin || (found_.size() >= most_names && !found_.contains(name)))
        return;
    found_[name].add(static_cast<double>(end - begin) / 1e9);
}

void durations::add_slice(const recording::record& record, const convention& fields) {
    const slice_mark mark = slice_mark_of(record, fields);
    const track track = tracks().of(record, fields);
    auto& open = open_[track.is_own ? std::pair(track.thread, std::size_t{0})
                                    : std::pair(0, track.number + 1)];
    if (mark.role == slice_mark::role::begin) {
        // Deeper ones do not count, but have ends, too.
        open.push_back({record.time, open.size() < most_depth
                                         ? fmt::format("{} {}", record.event->name, mark.name)
                                         : std::string()});
    } else if (mark.role == slice_mark::role::end && !open.empty()) {
        if (!open.back().name.empty())
            add(open.back().name, open.back().time, record.time);
        open.pop_back();
    }
}

void durations::begin_span(const recording::record& record, const span_mark& mark) {
    spans_.open(mark, record.time);
}

void durations::end_span(const recording::record& record, const span_mark& mark) {
    if (const auto begin = spans_.close(mark))
        add(begin->first, begin->second, record.time);
}

} // namespace tool::exporting
