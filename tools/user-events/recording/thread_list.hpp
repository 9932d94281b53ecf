// SPDX-License-Identifier: GPL-2.0-or-later
// The processes and names of threads, see appended_list.hpp. trace.dat has no place for processes,
// and the kernel keeps the names of 128 threads only.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tool::recording {

struct thread_entry {
    int process = 0; // 0 if it is not known
    std::string name;
};

/// By the number of the thread.
using thread_list = std::map<int, thread_entry>;

std::string to_text(const thread_list& list);

/// Finds the list in the statistics, if it is there.
thread_list to_thread_list(std::string_view statistics);

} // namespace tool::recording
