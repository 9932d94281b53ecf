// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "input.hpp"
#include "mapping.hpp"
#include "outcome.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

namespace calls {

/// The module's code that operations execute, and their outcomes, in memory shared by all processes
/// of an input. KCOV reports the addresses in the module that a task executes, in order. A
/// *feature* is a pair of consecutive addresses in one operation, or a kind of operation and its
/// outcome.
class Coverage {
public:
    using Features = std::vector<std::uint32_t>;

    /// Throws std::system_error if the kernel has no KCOV.
    explicit Coverage(bool trace = true);
    ~Coverage();
    Coverage(const Coverage&) = delete;
    Coverage& operator=(const Coverage&) = delete;

    /// Starts a new input, with no features.
    void begin_input();
    /// Returns the features of the current input, each once.
    Features features() const;

    /// Called in a new child: records the child's features too.
    void in_child();

    /// Called before and after each operation.
    void begin_operation();
    void end_operation(Kind kind, const selftest::Outcome& outcome);

    /// Returns how many operations of a kind had this errno (0: success).
    unsigned long outcomes(Kind kind, int error) const;
    static constexpr int errors = 134;

    /// Returns the addresses executed so far, as offsets from the start of the module's code.
    std::vector<std::uint32_t> addresses() const;

private:
    class Trace;
    struct Shared;

    void add(std::uint32_t feature);

    selftest::Mapping memory_;
    Shared* shared_;
    std::uint64_t code_ = 0;
    std::list<Trace> traces_;
    Trace* current_ = nullptr;
};

} // namespace calls
