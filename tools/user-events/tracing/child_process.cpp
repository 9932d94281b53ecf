// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/child_process.hpp"

#include "text/errors.hpp"
#include "tracing/file_limit.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tool::tracing {

namespace {

/// For posix_spawn().
class spawn_settings {
public:
    spawn_settings(int input, int output) {
        posix_spawnattr_init(&signals);
        sigset_t blocked, broken_pipe;
        sigprocmask(SIG_SETMASK, nullptr, &blocked);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
            sigdelset(&blocked, number);
        sigemptyset(&broken_pipe);
        sigaddset(&broken_pipe, SIGPIPE);
        posix_spawnattr_setsigmask(&signals, &blocked);
        posix_spawnattr_setsigdefault(&signals, &broken_pipe);
        posix_spawnattr_setflags(&signals, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawn_file_actions_init(&files);
        if (input >= 0)
            posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
        if (output >= 0)
            posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    }
    spawn_settings(const spawn_settings&) = delete;
    spawn_settings& operator=(const spawn_settings&) = delete;
    ~spawn_settings() {
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&signals);
    }

    posix_spawnattr_t signals{};
    posix_spawn_file_actions_t files{};
};

} // namespace

child_process::child_process(const std::vector<std::string>& words, const char* file,
                             standard_files files) {
    const spawn_settings settings(files.input, files.output);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const auto& word : words)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    // With more files than FD_SETSIZE, a program that uses select() would break.
    const first_file_limit limit;
    if (const int error = posix_spawnp(&id_, file ? file : arguments[0], &settings.files,
                                       &settings.signals, arguments.data(), environ))
        throw text::system_failure(
            error, fmt::format("cannot run {}: {}", words[0], std::strerror(error)), "");
}

child_process::~child_process() {
    if (has_ended())
        return;
    kill(id_, SIGTERM);
    wait();
}

bool child_process::has_ended() {
    if (id_ && waitpid(id_, &status_, WNOHANG) == id_)
        id_ = 0;
    return id_ == 0;
}

void child_process::wait() {
    while (id_ && waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
}

int child_process::status() const {
    return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

} // namespace tool::tracing
