// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"

#include <functional>
#include <initializer_list>
#include <string>
#include <sys/types.h>
#include <type_traits>

namespace selftest {

/// One end of a socket pair between a test and its child. It passes values and descriptors, in
/// order. Sending throws std::system_error. Receiving waits, and throws std::runtime_error after a
/// timeout, or if the other process has exited or has sent something else.
class Channel {
public:
    explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

    template <typename T>
    requires std::is_trivially_copyable_v<T>
    void send(const T& value) { send_bytes(&value, sizeof(value)); }

    template <typename T>
    requires std::is_trivially_copyable_v<T> T receive() {
        T value;
        receive_bytes(&value, sizeof(value));
        return value;
    }

    /// Sends a request and receives the answer.
    template <typename T, typename Request>
    T ask(const Request& request) {
        send(request);
        return receive<T>();
    }

    /// Passes an open file to the other process (SCM_RIGHTS).
    void send_descriptor(int descriptor);
    Descriptor receive_descriptor();

    int descriptor() const { return socket_.number(); }

private:
    void send_bytes(const void* data, std::size_t size);
    void receive_bytes(void* data, std::size_t size);
    void wait_readable();

    Descriptor socket_;
};

/// A forked process. It runs the body and exits with the body's result, or with 255 after an
/// exception, which it prints to stderr. The body must not use Catch2 assertions: it reports
/// through the channel or the exit status. The destructor kills and reaps a child that still runs.
class Child {
public:
    using Body = std::function<int(Channel&)>;

    /// Throws std::system_error if fork fails.
    explicit Child(const Body& body);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    Channel& channel() { return channel_; }
    pid_t pid() const { return pid_; }

    /// Waits until the child exits. Returns its exit status, or minus the signal that killed it.
    /// Throws std::runtime_error after a timeout.
    int wait();

    /// Kills the child with SIGKILL and reaps it.
    void kill();

private:
    Child(const Body& body, std::pair<Descriptor, Descriptor> sockets);

    Channel channel_;
    pid_t pid_;
    bool reaped_ = false;
};

/// Runs a body in a child. Returns and throws as Child::wait() does.
int in_child(const std::function<int()>& body);

/// Returns the state of a thread in /proc, for example S, D or T. Throws std::system_error.
char state_of(pid_t process, pid_t thread);

/// For a child: drops root permanently. All user and group ids become `user`; only the given
/// capabilities (CAP_PERFMON, ...) stay. Throws std::system_error.
void become_user(uid_t user, std::initializer_list<unsigned> capabilities = {});

/// The unprivileged user of tests that must not run as root.
inline constexpr uid_t unprivileged_uid = 65534;

} // namespace selftest
