// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/tasks.hpp"

#include "recording/thread_list.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <thread>

namespace tool::tracing {

int process_of(int thread) {
    std::ifstream status(fmt::format("/proc/{}/status", thread));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("Tgid:"))
            return std::atoi(line.c_str() + 5);
    return 0;
}

const task& tasks::find(int thread) {
    const auto found = known_.find(thread);
    if (found != known_.end())
        return found->second;
    task added{"", has_proc_ ? process_of(thread) : 0};
    std::ostringstream comm;
    if (has_proc_)
        comm << std::ifstream(fmt::format("/proc/{}/comm", thread)).rdbuf();
    // Empty also if the thread ends while its file is open.
    if (added.name = comm.str(); added.name.empty())
        added.name = saved_name(thread);
    else if (added.name.ends_with('\n'))
        added.name.pop_back();
    return known_[thread] = std::move(added);
}

std::string tasks::saved_name(int thread) {
    if (thread == 0)
        return "<idle>";
    // The kernel saves a thread's name when it takes the CPU from the thread, unless a process
    // reads the saved names at this moment. The last time may come after the thread is gone from
    // /proc.
    while (!saved_.contains(thread)) {
        if (has_proc_ && waits_left_ > 0) {
            --waits_left_;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        } else if (has_read_saved_)
            break;
        read_saved();
    }
    const auto name = saved_.find(thread);
    return name == saved_.end() ? recording::unknown_task : name->second;
}

void tasks::read_saved() {
    for (auto& [thread, name] :
         recording::to_saved_names(in_.try_read("saved_cmdlines").value_or("")))
        saved_[thread] = std::move(name);
    has_read_saved_ = true;
}

void tasks::refresh() {
    const auto now = std::chrono::steady_clock::now();
    has_read_saved_ = false;
    if (now - last_ < std::chrono::seconds(1))
        return;
    last_ = now;
    known_.clear();
    saved_.clear();
    waits_left_ = waits_in_a_second;
}

} // namespace tool::tracing
