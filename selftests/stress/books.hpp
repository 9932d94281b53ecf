// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "tracing.hpp"
#include "user_events.hpp"
#include "world.hpp"

namespace stress {

/// An event that is recorded all the time in an instance of its own, which is read by nobody: what
/// its writers were told must be there.
class Books {
public:
    Books();
    ~Books();

    int file() const { return file_.descriptor(); }
    std::uint32_t index() const { return index_; }

    /// Whether every write that succeeded is in the buffer or counted as lost, and nothing else is.
    /// Nobody writes any more.
    bool balance(const World& world);

private:
    unsigned long in_buffer() const;
    unsigned long lost() const;
    void print_buffer() const;

    const selftest::Event event_{books_name};
    selftest::Word word_{0};
    selftest::Instance instance_;
    selftest::DataFile file_;
    std::uint32_t index_;
};

} // namespace stress
