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

/// What operations reach in the module, and how they end. All processes of an input note it in the
/// same memory. The kernel tells (KCOV) which places of the module a task has come to, one after
/// the other; a *feature* is a pair of places that follow each other in one operation, or an
/// outcome of a kind of operation.
class Coverage {
public:
    using Features = std::vector<std::uint32_t>;

    /// Throws std::system_error where the kernel has no KCOV.
    Coverage();
    ~Coverage();
    Coverage(const Coverage&) = delete;
    Coverage& operator=(const Coverage&) = delete;

    /// From here on features are those of another input.
    void begin_input();
    /// The features of the present input, each once.
    Features features() const;

    /// Has the places of a child noted as well, in the child.
    void in_child();

    /// Around each operation.
    void begin_operation();
    void end_operation(Kind kind, const selftest::Outcome& outcome);

    /// How often a kind of operation ended with an errno, 0 being success.
    unsigned long outcomes(Kind kind, int error) const;
    static constexpr int errors = 134;

    /// The places reached so far, as offsets from the start of the module's code.
    std::vector<std::uint32_t> places() const;

private:
    class Trace;
    struct Shared;

    void note(std::uint32_t feature);

    selftest::Mapping memory_;
    Shared* shared_;
    std::uint64_t code_;
    std::list<Trace> traces_;
    Trace* current_ = nullptr;
};

} // namespace calls
