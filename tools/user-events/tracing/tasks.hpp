// SPDX-License-Identifier: GPL-2.0-or-later
// The names and processes of threads that make records.
#pragma once

#include "tracing/tracefs.hpp"

#include <chrono>
#include <string>
#include <unordered_map>
#include <utility>

namespace tool::tracing {

struct task {
    /// "<...>" if it is not known.
    std::string name;
    /// 0 if it is not known.
    int process;
};

/// The process of a thread; 0 if there is no such thread.
int process_of(int thread);

/// Remembers what it finds for a second, as a program changes its name when it starts another.
class tasks {
public:
    /// `saved` has the names of threads that have ended. `has_proc` says whether /proc has those
    /// that run.
    tasks(instance saved, bool has_proc) : in_(std::move(saved)), has_proc_(has_proc) {}

    const task& find(int thread);
    /// To be called between reading records: drops what is old, and reads what the kernel has
    /// saved of threads that have ended.
    void refresh();

private:
    /// Of a thread that has ended.
    std::string saved_name(int thread);
    void read_saved();

    /// Of a millisecond each, however many threads have names that cannot be found.
    static constexpr int waits_in_a_second = 20;

    instance in_;
    bool has_proc_;
    std::unordered_map<int, task> known_;
    std::unordered_map<int, std::string> saved_;
    std::chrono::steady_clock::time_point last_{};
    bool has_read_saved_ = false;
    int waits_left_ = waits_in_a_second;
};

} // namespace tool::tracing
