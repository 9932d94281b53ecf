// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "payload.hpp"
#include "tracing.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <sys/types.h>
#include <vector>

namespace selftest {

/// Records what a task writes, or more, for as long as the object lives.
class Recorder {
public:
    /// Some recorders only count records: then there are no payloads.
    struct Taken {
        std::uint64_t count = 0;
        std::vector<Bytes> payloads;
    };

    Recorder() = default;
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;
    virtual ~Recorder() = default;
    /// Returns what it has got since the last call. Throws std::system_error, or std::runtime_error
    /// if a BPF program has seen wrong fields.
    virtual Taken take() = 0;
};

struct RecorderKind {
    const char* name;
    /// Throws std::system_error.
    std::function<std::unique_ptr<Recorder>(const Event& event, pid_t task)> attach;
};

/// The first fields of an event with recorders. The sum of their values is 0 in each record.
inline constexpr const char* fields_of_recorders = " s64 plus; s64 minus";

extern const std::span<const RecorderKind> recorder_kinds;

} // namespace selftest
