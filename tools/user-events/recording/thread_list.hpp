// SPDX-License-Identifier: GPL-2.0-or-later
// The processes and names of threads, see appended_list.hpp. trace.dat has no place for processes,
// and the kernel keeps the names of 128 threads only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

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

/// What threads are called whose name is not known.
inline constexpr char unknown_task[] = "<...>";

/// The names in a text of the kernel's file saved_cmdlines, by the number of the thread. The file
/// has a line for each thread, and the name that a thread has given itself can have a line break:
/// what follows then looks like the line of another thread. So a number with two names gets
/// unknown_task.
std::unordered_map<int, std::string> to_saved_names(const std::string& text);

} // namespace tool::recording
