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

/// Returns attributes for perf_event_open() that count every record of an event. Counting starts
/// when the perf event is opened. Throws std::system_error if the event does not exist.
perf_event_attr perf_attributes(const Event& event);

/// Returns attributes for samples that hold the record and, depending on PERF_SAMPLE_TID and
/// PERF_SAMPLE_CALLCHAIN in `more`, the ids and the call chain. Throws as perf_attributes() does.
perf_event_attr perf_sampling(const Event& event, std::uint64_t more = 0);

/// Calls perf_event_open() for a task (0: the calling one, -1: all) and a CPU (-1: all). Throws
/// std::system_error.
Descriptor open_perf(perf_event_attr attributes, pid_t task = 0, int cpu = -1);

/// A sample that perf has recorded.
struct PerfSample {
    std::uint32_t pid = 0, tid = 0;
    std::vector<std::uint64_t> callchain;
    /// What follows the common fields, including perf's padding.
    Bytes payload;
    /// The common_type field.
    int type = 0;
};

/// An open perf event, with a ring buffer if it samples.
class PerfEvent {
public:
    /// Takes the arguments of open_perf(), and throws as it does.
    explicit PerfEvent(perf_event_attr attributes, pid_t task = 0, int cpu = -1);

    /// Returns the number of records counted. Throws std::system_error.
    std::uint64_t count() const;

    /// The ioctls.
    Outcome set_filter(const std::string& filter);
    Outcome attach_program(int program);
    Outcome enable();
    Outcome disable();

    /// Takes all samples out of the ring buffer, and adds the number of samples that perf reports
    /// as lost to `lost`. Throws std::runtime_error if some are lost and `lost` is null.
    std::vector<PerfSample> samples(std::uint64_t* lost = nullptr);

    int descriptor() const { return file_.number(); }
    /// Unmaps the ring buffer and closes the file, as an exiting program does.
    void close();

private:
    static constexpr std::size_t data_pages = 64;

    Descriptor file_;
    std::uint64_t sample_type_;
    std::optional<Mapping> ring_;
};

} // namespace selftest
