// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/signals.hpp"

#include "text/errors.hpp"
#include "text/output.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
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

bool is_stop_signal(int number) noexcept {
    return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

held_signals::held_signals() : set_(stopping()) {
    // With it, continue_in_child() finds the end of the child.
    sigaddset(&set_, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

void held_signals::release() noexcept {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> continue_in_child(held_signals& held) {
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0)
        throw text::failure(std::string("cannot start a process: ") + std::strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            std::_Exit(1);
        held.release();
        return {};
    }
    for (int status = 0;;) {
        siginfo_t info{};
        const int number = sigwaitinfo(&held.set(), &info);
        if (waitpid(child, &status, WNOHANG) == child)
            return status;
        // Those of the terminal are for both processes.
        if (number > 0 && number != SIGCHLD && info.si_code != SI_KERNEL)
            kill(child, number);
    }
}

void end_by_signal(int number) {
    std::signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    std::raise(number);
    std::_Exit(1);
}

worker::worker(std::function<void()> run)
    : thread_([this, run = std::move(run)]() noexcept {
          try {
              run();
          } catch (...) {
              error_ = std::current_exception();
              kill(getpid(), SIGTERM);
          }
      }) {}

worker::~worker() {
    if (thread_.joinable())
        thread_.join();
}

void worker::join() {
    if (thread_.joinable())
        thread_.join();
    if (error_)
        std::rethrow_exception(std::exchange(error_, nullptr));
}

stop_signals::stop_signals() {
    const sigset_t set = stopping();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    file_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (file_ < 0)
        throw text::file_failure(errno, "create a", "signalfd");
    text::give_up_when_readable(file_);
}

stop_signals::~stop_signals() {
    if (keeps_blocked_) {
        text::give_up_when_readable(-1);
        close(file_);
        return;
    }
    // The signal has done its work.
    signalfd_siginfo signal;
    while (read(file_, &signal, sizeof(signal)) == sizeof(signal))
        ;
    close(file_);
    const sigset_t set = stopping();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    // After that: it may wait for the reader.
    text::give_up_when_readable(-1);
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
    // Ctrl-C ends the program that reads, too: then the signal is the reason.
    has_lost_reader_ = !stopped_ && (files[1].revents & (POLLERR | POLLHUP));
    stopped_ = stopped_ || has_lost_reader_;
    return stopped_;
}

} // namespace tool::tracing
