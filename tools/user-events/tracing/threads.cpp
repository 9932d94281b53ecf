// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/threads.hpp"

#include "tracing/mounted.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <sstream>

namespace tool::tracing {

void remember_processes(const instance& in) {
    // Without it, only the threads that exist at the end are known.
    (void)in.try_write("options/record-tgid", "1");
}

recording::thread_list find_threads(const instance& of) {
    recording::thread_list result;
    std::istringstream lines(of.with_names().try_read("saved_tgids").value_or(std::string()));
    for (int thread = 0, process = 0; lines >> thread >> process;)
        result[thread].process = process;
    if (of.is_mounted() && !has_threads_of_records())
        return result;
    for (const int process : processes()) {
        const std::string tasks = fmt::format("/proc/{}/task", process);
        for (const auto& thread : directories(tasks))
            result[std::atoi(thread.c_str())] = {
                process, first_line(fmt::format("{}/{}/comm", tasks, thread))};
    }
    return result;
}

} // namespace tool::tracing
