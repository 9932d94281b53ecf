// SPDX-License-Identifier: GPL-2.0-or-later
// How long the slices of each name took.
#pragma once

#include "export/tracks.hpp"
#include "recording/statistics.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tool::exporting {

/// Measures slices: of tracks, of activities, and of --pair. Those without an end do not count.
class durations final : interpreter {
public:
    using interpreter::interpreter;

    void add(const recording::record& record) { interpret(record); }

    /// In seconds, by `EVENT SLICE`, `PROVIDER:EVENT` and the name of the pair.
    const std::map<std::string, recording::distribution>& by_name() const noexcept {
        return found_;
    }

private:
    struct begun {
        std::uint64_t time;
        std::string name;
    };

    void add_slice(const recording::record& record, const convention& fields) override;
    void begin_span(const recording::record& record, const span_mark& mark) override;
    void end_span(const recording::record& record, const span_mark& mark) override;
    void add(const std::string& name, std::uint64_t begin, std::uint64_t end);

    open_spans<std::uint64_t> spans_;
    std::map<std::pair<int, std::size_t>, std::vector<begun>> open_; // by thread or track
    std::map<std::string, recording::distribution> found_;
};

} // namespace tool::exporting
