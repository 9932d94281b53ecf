// SPDX-License-Identifier: GPL-2.0-only
#include "recording/file.hpp"

#include "text/errors.hpp"
#include "tracing/signals.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/wait.h>

namespace tool::recording {

void isolate(const std::string& path, const std::string& filter) {
    const auto status = tracing::continue_in_child();
    if (!status)
        return;
    if (WIFEXITED(*status))
        std::_Exit(WEXITSTATUS(*status));
    const int signal = WTERMSIG(*status);
    if (tracing::is_stop_signal(signal))
        tracing::end_by_signal(signal);
    throw text::failure(
        fmt::format("cannot read {}: libtracecmd ended with \"{}\"", path, strsignal(signal)),
        filter.empty() ? "the file is damaged or cut off"
                       : "the filter is not complete, or the file is damaged or cut off");
}

} // namespace tool::recording
