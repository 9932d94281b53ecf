// SPDX-License-Identifier: GPL-2.0-only
#include "outcome_counts.hpp"

#include <algorithm>
#include <cstring>
#include <iostream>

namespace stress {

const char* name_of(Operation operation) {
    static constexpr std::array<const char*, static_cast<std::size_t>(Operation::count)> names{
        "open",          "close",         "register",       "unregister",    "delete",
        "write",         "counted write", "move",           "fork",          "exec",
        "kill",          "pass a file",   "take a file",    "change memory", "mark",
        "share indexes", "enable",        "filter",         "trigger",       "rule",
        "remove rules",  "read files",    "dynamic_events", "make instance", "remove instance",
        "perf",          "BPF",           "limit",          "unload"};
    return names.at(static_cast<std::size_t>(operation));
}

const selftest::Outcome& OutcomeCounts::operator()(Operation operation,
                                                   const selftest::Outcome& outcome) {
    const auto error = std::min(static_cast<std::size_t>(outcome.error()), errors - 1);
    counts_.at(static_cast<std::size_t>(operation)).at(error)++;
    return outcome;
}

void OutcomeCounts::print_and_clear() {
    for (std::size_t operation = 0; operation < counts_.size(); operation++) {
        std::cout << "#   " << name_of(static_cast<Operation>(operation)) << ":";
        for (std::size_t error = 0; error < errors; error++)
            if (const unsigned long count = counts_.at(operation).at(error).exchange(0)) {
                const char* name = error ? strerrorname_np(static_cast<int>(error)) : "success";
                std::cout << " " << (name ? name : "other") << " " << count;
                succeeded_.at(operation) |= error == 0;
            }
        std::cout << "\n";
    }
    std::cout << std::flush;
}

std::string OutcomeCounts::never_succeeded() const {
    std::string names;
    for (std::size_t operation = 0; operation < succeeded_.size(); operation++)
        if (!succeeded_.at(operation) && static_cast<Operation>(operation) != Operation::unload)
            names +=
                std::string(names.empty() ? "" : ", ") + name_of(static_cast<Operation>(operation));
    return names;
}

} // namespace stress
