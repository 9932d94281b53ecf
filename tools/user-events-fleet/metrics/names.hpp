// SPDX-License-Identifier: GPL-2.0-or-later
// Counts records of EventHeader events by the names in their payloads, for `serve`. The kernel does
// not know these names, so the records are recorded and read.
#pragma once

#include "tracing/following.hpp"
#include "tracing/live_source.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tool::metrics {

/// What the metrics call an event: its registered name, in UTF-8. That of a mark or of an event of
/// a group has the system in front, because other user events may have the same name.
std::string label_of(const std::string& system, const std::string& event);

/// The counts of one tracepoint, by `PROVIDER:EVENT` in UTF-8. `others` is for the names over the
/// limit.
struct name_counts {
    std::map<std::string, std::uint64_t> records;
    std::uint64_t others = 0;
};

/// By the labels of the tracepoints.
using all_name_counts = std::map<std::string, name_counts>;

/// While the object exists, the EventHeader events that match are recorded in the instance, whose
/// clock has to be "mono". The functions throw text::failure.
class names {
public:
    /// How often read() is to be called, so that the buffers do not get full.
    static constexpr int pause_ms = 100;

    /// Those of the patterns that tracepoints of EventHeader events can match.
    static std::vector<tracing::pattern>
    for_tracepoints(const std::vector<tracing::pattern>& patterns);

    /// At most so many names of each tracepoint, and so many tracepoints, have counts of their
    /// own. Programs choose the names. Without patterns, all tracepoints are meant. The instance
    /// has to outlive this, and has no other rules yet.
    names(const tracing::instance& in, std::vector<tracing::pattern> patterns,
          std::uint64_t most_names, std::uint64_t most_tracepoints);

    /// Counts the records until now.
    void read();

    const all_name_counts& counts() const noexcept { return counts_; }

private:
    void add(const recording::record& record);

    std::uint64_t most_names_;
    std::uint64_t most_tracepoints_;
    tracing::wanted_events wanted_;
    tracing::following following_;
    tracing::live_source source_;
    all_name_counts counts_;
};

} // namespace tool::metrics
