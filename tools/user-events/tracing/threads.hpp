// SPDX-License-Identifier: GPL-2.0-or-later
// The processes and names of threads, when a recording ends. Some threads have ended.
#pragma once

#include "recording/thread_list.hpp"
#include "tracing/tracefs.hpp"

namespace tool::tracing {

/// Has the kernel remember the processes of threads that make records in this instance.
void remember_processes(const instance& in);

/// The threads whose processes the kernel remembers, and all that exist. If the instance is
/// mounted, as far as has_threads_of_records() says so, or there is a file saved_tgids.
recording::thread_list find_threads(const instance& of);

} // namespace tool::tracing
