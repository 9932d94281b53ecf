// SPDX-License-Identifier: GPL-2.0-or-later
// Signals that end a command.
#pragma once

#include <csignal>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

namespace tool::tracing {

/// Whether this is one of the signals that end a command.
bool is_stop_signal(int number) noexcept;

/// While the object exists, signals that would end the command wait, so that no output is left
/// half-made. Has to be created before other threads.
class held_signals {
public:
    held_signals();
    held_signals(const held_signals&) = delete;
    held_signals& operator=(const held_signals&) = delete;
    ~held_signals() { release(); }

    /// Ends the waiting.
    void release() noexcept;

    const sigset_t& set() const noexcept { return set_; }

private:
    sigset_t set_, before_;
};

/// Lets a child process go on: returns nothing in it, with the signals released. This process
/// passes on to the child what would end a command, and returns the child's status when that has
/// ended, as waitpid() gives it. The child is killed if this process is.
std::optional<int> continue_in_child(held_signals& held);

/// Ends the process by this signal.
[[noreturn]] void end_by_signal(int number);

/// A thread. If its function throws, the process gets SIGTERM, so that the command ends as for any
/// other such signal, and join() throws what the function threw.
class worker {
public:
    explicit worker(std::function<void()> run);
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker();

    /// Waits until the function has ended.
    void join();

private:
    std::exception_ptr error_;
    std::thread thread_;
};

/// While the object exists, SIGINT, SIGTERM and SIGHUP do not end the process, but make a file
/// readable. So a command ends by returning, and its destructors put everything back; a reader of
/// standard output that takes nothing does not keep it. Has to be created before other threads and
/// child processes.
class stop_signals {
public:
    stop_signals();
    stop_signals(const stop_signals&) = delete;
    stop_signals& operator=(const stop_signals&) = delete;
    ~stop_signals();

    /// Waits for a signal, for up to this long. Returns true once a signal has come, or once
    /// standard output has no reader left, and from then on. `other` ends the waiting if it becomes
    /// readable.
    bool wait(int milliseconds, int other = -1);

    /// What wait() has returned.
    bool has_stopped() const noexcept { return stopped_; }
    /// Whether the reason was that standard output has no reader left.
    bool has_lost_reader() const noexcept { return has_lost_reader_; }

    /// From now on, SIGHUP does not stop, but makes wait() return at once, and the next
    /// wants_reload() return true.
    void reload_on_hangup() noexcept { is_reloading_ = true; }
    bool wants_reload() noexcept { return std::exchange(wants_reload_, false); }

    /// Leaves the signals blocked at the end, for the program that this process executes: those
    /// that come in the meantime wait for it.
    void keep_blocked() noexcept { keeps_blocked_ = true; }

private:
    int file_;
    bool stopped_ = false;
    bool has_lost_reader_ = false;
    bool is_reloading_ = false;
    bool wants_reload_ = false;
    bool keeps_blocked_ = false;
};

} // namespace tool::tracing
