// SPDX-License-Identifier: GPL-2.0-only
#include "child.hpp"

#include "deadline.hpp"
#include "text_file.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace selftest {

namespace {

constexpr int wait_limit_ms = static_cast<int>(std::chrono::milliseconds(wait_limit).count());

std::pair<Descriptor, Descriptor> socket_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw_errno("socketpair");
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Removes Catch2's signal handlers, which would report a test failure from the child.
void reset_signal_handlers() {
    for (int number : {SIGINT, SIGILL, SIGFPE, SIGSEGV, SIGTERM, SIGABRT})
        signal(number, SIG_DFL);
}

[[noreturn]] void run_and_exit(const Child::Body& body, Channel& channel) {
    try {
        _exit(body(channel));
    } catch (const std::exception& error) {
        fprintf(stderr, "# child: %s\n", error.what());
    } catch (...) {
        fprintf(stderr, "# child: an exception\n");
    }
    _exit(255);
}

/// A message of one byte with room for one descriptor.
struct DescriptorMessage {
    char byte = 0;
    iovec part{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{nullptr, 0, &part, 1, control, sizeof(control), 0};

    cmsghdr& header() { return *reinterpret_cast<cmsghdr*>(control); }
    int& descriptor() { return *reinterpret_cast<int*>(CMSG_DATA(&header())); }
};

} // namespace

void Channel::wait_readable() {
    pollfd waiting{socket_.number(), POLLIN, 0};
    int ready = poll(&waiting, 1, wait_limit_ms);
    if (ready < 0)
        throw_errno("poll");
    if (ready == 0)
        throw std::runtime_error("timeout: the other process has sent nothing");
}

void Channel::send_bytes(const void* data, std::size_t size) {
    if (::send(socket_.number(), data, size, MSG_NOSIGNAL) != static_cast<ssize_t>(size))
        throw_errno("send");
}

void Channel::receive_bytes(void* data, std::size_t size) {
    wait_readable();
    ssize_t received = recv(socket_.number(), data, size, MSG_TRUNC);
    if (received < 0)
        throw_errno("recv");
    if (received != static_cast<ssize_t>(size))
        throw std::runtime_error("the other process has exited or sent a message of another size");
}

void Channel::send_descriptor(int descriptor) {
    DescriptorMessage to;
    to.header() = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    to.descriptor() = descriptor;
    if (sendmsg(socket_.number(), &to.message, MSG_NOSIGNAL) < 0)
        throw_errno("sendmsg");
}

Descriptor Channel::receive_descriptor() {
    wait_readable();
    DescriptorMessage from;
    if (recvmsg(socket_.number(), &from.message, MSG_CMSG_CLOEXEC) != 1 ||
        from.header().cmsg_type != SCM_RIGHTS)
        throw std::runtime_error("the other process has sent no descriptor");
    return Descriptor(from.descriptor());
}

Child::Child(const Body& body) : Child(body, socket_pair()) {}

Child::Child(const Body& body, std::pair<Descriptor, Descriptor> sockets)
    : channel_(std::move(sockets.first)), pid_(fork()) {
    if (pid_ < 0)
        throw_errno("fork");
    if (pid_ > 0)
        return;
    reset_signal_handlers();
    channel_ = Channel(std::move(sockets.second));
    run_and_exit(body, channel_);
}

Child::~Child() {
    if (!reaped_)
        kill();
}

int Child::wait() {
    int status = 0;
    if (!eventually([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }))
        throw std::runtime_error("timeout: the child does not exit");
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void Child::kill() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    reaped_ = true;
}

int in_child(const std::function<int()>& body) {
    return Child([&](Channel&) { return body(); }).wait();
}

char state_of(pid_t process, pid_t thread) {
    const std::string stat =
        read_text("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
    return stat.at(stat.rfind(')') + 2);
}

void become_user(uid_t user, std::initializer_list<unsigned> capabilities) {
    if (prctl(PR_SET_KEEPCAPS, 1) != 0 || setgroups(0, nullptr) != 0 ||
        setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0)
        throw_errno("change the user");
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
    for (unsigned capability : capabilities) {
        auto& word = data[CAP_TO_INDEX(capability)];
        word.permitted |= CAP_TO_MASK(capability);
        word.effective = word.permitted;
    }
    if (syscall(SYS_capset, &header, data) != 0)
        throw_errno("capset");
}

} // namespace selftest
