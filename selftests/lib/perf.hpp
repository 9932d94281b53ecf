// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "mapping.hpp"
#include "outcome.hpp"
#include "payload.hpp"
#include "tracing.hpp"

#include <cstdint>
#include <linux/perf_event.h>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace selftest {

/// What perf_event_open takes for an event: it counts every record, and starts at once.
perf_event_attr perf_attributes(const Event& event);

/// The same with samples that hold the record, and `more` (PERF_SAMPLE_*: TID and CALLCHAIN).
perf_event_attr perf_sampling(const Event& event, std::uint64_t more = 0);

/// One sample of perf's.
struct PerfSample {
    std::uint32_t pid = 0, tid = 0;
    std::vector<std::uint64_t> callchain;
    /// What follows the common fields, with perf's padding.
    Bytes payload;
    /// The common_type.
    int type = 0;
};

/// An open perf event.
class PerfEvent {
public:
    /// Opens it for a task (0 for the present one, -1 for all) and a CPU (-1 for all), or throws
    /// std::system_error.
    explicit PerfEvent(perf_event_attr attributes, pid_t task = 0, int cpu = -1);

    /// How many records there were.
    std::uint64_t count() const;

    Outcome set_filter(const std::string& filter);
    Outcome attach_program(int program);
    Outcome enable();
    Outcome disable();

    /// The samples there are. They are taken out. Adds to `lost` how many perf says that it lost,
    /// or throws std::runtime_error.
    std::vector<PerfSample> samples(std::uint64_t* lost = nullptr);

    int descriptor() const { return file_.number(); }
    /// Closes it, as the program's end would do.
    void close();

private:
    static constexpr std::size_t data_pages = 64;

    Descriptor file_;
    std::uint64_t sample_type_;
    std::optional<Mapping> ring_;
};

} // namespace selftest
