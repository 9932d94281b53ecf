// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "shared.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <string>

namespace stress {

/// The counted event. A separate instance, which no process reads, records it all the time: each
/// successful write must be in it or counted as lost.
class RecordCheck {
public:
    RecordCheck();
    ~RecordCheck();

    int file() const { return file_.descriptor(); }
    std::uint32_t index() const { return index_; }

    /// Returns whether each successful write is in the buffer, once, or counted as lost, and each
    /// record and each loss is from a write that was begun. All writers must have exited.
    bool passes(const Shared& shared);

private:
    /// Returns what is wrong, or an empty text.
    std::string problem(const Shared& shared);
    unsigned long in_buffer() const;
    unsigned long lost() const;
    void print_buffer() const;

    const selftest::Event event_{counted_name};
    selftest::Word word_{0};
    selftest::Instance instance_;
    selftest::DataFile file_;
    std::uint32_t index_;
};

} // namespace stress
