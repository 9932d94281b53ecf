// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace stress {

/// The operations whose outcomes are counted.
enum class Operation {
    open,
    close,
    register_event,
    unregister,
    remove,
    write,
    write_counted,
    move,
    fork,
    exec,
    kill,
    pass_file,
    take_file,
    change_memory,
    mark,
    share,
    enable,
    filter,
    trigger,
    rule,
    remove_rules,
    read_files,
    dynamic_events,
    make_instance,
    remove_instance,
    perf,
    bpf,
    limit,
    unload,
    count
};

const char* name_of(Operation operation);

/// Counts how often each operation has each outcome, in memory that all processes share.
class OutcomeCounts {
public:
    /// Counts an outcome, and returns it.
    const selftest::Outcome& operator()(Operation operation, const selftest::Outcome& outcome);

    /// Prints a comment line for each operation, and resets the counts.
    void print_and_clear();

    /// Returns the errors since the last print_and_clear() that their operations must not have.
    std::string forbidden() const;

    /// Returns the operations of which no call has succeeded in any of the printed counts, but for
    /// unload, which must fail.
    std::string never_succeeded() const;

private:
    static constexpr std::size_t errors = 134;
    std::array<std::array<std::atomic<unsigned long>, errors>,
               static_cast<std::size_t>(Operation::count)>
        counts_;
    std::array<bool, static_cast<std::size_t>(Operation::count)> succeeded_{};
};

} // namespace stress
