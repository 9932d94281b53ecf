// SPDX-License-Identifier: GPL-2.0-only
#include "recording/file.hpp"

#include "text/errors.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool::recording {

void isolate(const std::string& path, const std::string& filter) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
        throw text::failure(fmt::format("cannot start a process: {}", std::strerror(errno)));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            std::_Exit(1);
        return;
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status))
        std::_Exit(WEXITSTATUS(status));
    const char* const signal = strsignal(WTERMSIG(status));
    throw text::failure(fmt::format("cannot read {}: libtracecmd ended with \"{}\"", path, signal),
                        filter.empty()
                            ? "the file is damaged or cut off"
                            : "the filter is not complete, or the file is damaged or cut off");
}

} // namespace tool::recording
