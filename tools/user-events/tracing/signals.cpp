// SPDX-License-Identifier: GPL-2.0-only
#include "tracing/signals.hpp"

#include "text/errors.hpp"

#include <cerrno>
#include <csignal>
#include <iterator>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace tool::tracing {

namespace {

sigset_t stopping() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    // nohup lets a program ignore it.
    struct sigaction hangup {};
    if (sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaddset(&set, SIGHUP);
    return set;
}

} // namespace

stop_signals::stop_signals() {
    const sigset_t set = stopping();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    file_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (file_ < 0)
        throw text::file_failure(errno, "create a", "signalfd");
}

stop_signals::~stop_signals() {
    if (keeps_blocked_) {
        close(file_);
        return;
    }
    // The signal has done its work.
    signalfd_siginfo signal;
    while (read(file_, &signal, sizeof(signal)) == sizeof(signal))
        ;
    close(file_);
    restore();
}

bool stop_signals::wait(int milliseconds, int other) {
    pollfd files[] = {{file_, POLLIN, 0}, {STDOUT_FILENO, 0, 0}, {other, POLLIN, 0}};
    if (stopped_ || poll(files, std::size(files), milliseconds) <= 0)
        return stopped_;
    signalfd_siginfo signal{};
    if (is_reloading_ && files[0].revents && read(file_, &signal, sizeof(signal)) > 0) {
        wants_reload_ = signal.ssi_signo == SIGHUP;
        stopped_ = !wants_reload_;
    } else {
        stopped_ = files[0].revents != 0;
    }
    stopped_ = stopped_ || (files[1].revents & (POLLERR | POLLHUP));
    return stopped_;
}

void stop_signals::restore() {
    const sigset_t set = stopping();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

} // namespace tool::tracing
