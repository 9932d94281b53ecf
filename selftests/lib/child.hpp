// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"

#include <functional>
#include <initializer_list>
#include <string>
#include <sys/types.h>
#include <type_traits>

namespace selftest {

/// One end of a conversation between a test and its child: values and descriptors, each in order.
/// Receiving waits until the deadline and throws when nothing came or the other end is gone.
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

    /// Passes an open file as SCM_RIGHTS does it.
    void send_descriptor(int descriptor);
    Descriptor receive_descriptor();

    int descriptor() const { return socket_.number(); }

private:
    void send_bytes(const void* data, std::size_t size);
    void receive_bytes(void* data, std::size_t size);
    void wait_readable();

    Descriptor socket_;
};

/// A forked process. It runs the body and exits with what that returns (255 for an exception, told
/// on stderr). No assertions in there: it reports through the channel or its exit status. Whatever
/// is left of it is killed and reaped with the object.
class Child {
public:
    using Body = std::function<int(Channel&)>;

    explicit Child(const Body& body);
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();

    Channel& channel() { return channel_; }
    pid_t pid() const { return pid_; }

    /// Waits until it has ended. Returns its exit status, or minus the signal that ended it; throws
    /// when it is still there at the deadline.
    int wait();

    /// Ends it with SIGKILL and waits until it has ended.
    void kill();

private:
    Child(const Body& body, std::pair<Descriptor, Descriptor> sockets);

    Channel channel_;
    pid_t pid_;
    bool reaped_ = false;
};

/// Runs a body in a child and returns its exit status.
int in_child(const std::function<int()>& body);

/// Gives up root for good, in a child: all ids become `user`, no capabilities stay but those given
/// (CAP_PERFMON and so on).
void become_user(uid_t user, std::initializer_list<unsigned> capabilities = {});

/// The user of tests that must not be root.
inline constexpr uid_t nobody = 65534;

} // namespace selftest
