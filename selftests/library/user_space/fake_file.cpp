// SPDX-License-Identifier: GPL-2.0-only
#include "fake_file.hpp"

#include <user_events/file.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

struct Registration {
    std::string command;
    std::uint8_t size;
};

/// Never destroyed: events with static storage duration unregister at exit.
struct State {
    std::mutex mutex;
    /// By address and bit.
    std::map<std::pair<std::uint64_t, unsigned>, Registration> registered;
    std::vector<std::string> events;
    std::set<std::string> enabled;
    int error = 0, unregister_error = 0, closings = 0;
    int descriptor = -1;
    bool exists = false;
};

State& state() {
    static State& only = *new State;
    return only;
}

void set_bit(std::uint64_t address, unsigned bit, std::uint8_t size, bool value) {
    const auto set = [&](auto* word) {
        using Word = std::remove_reference_t<decltype(*word)>;
        const Word mask = static_cast<Word>(Word{1} << bit);
        if (value)
            __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
        else
            __atomic_fetch_and(word, static_cast<Word>(~mask), __ATOMIC_RELAXED);
    };
    if (size == 8)
        set(reinterpret_cast<std::uint64_t*>(address));
    else
        set(reinterpret_cast<std::uint32_t*>(address));
}

int register_event(user_events_reg& argument) {
    const std::string command = reinterpret_cast<const char*>(argument.name_args);
    const std::pair<std::uint64_t, unsigned> key(std::uint64_t{argument.enable_addr},
                                                 unsigned{argument.enable_bit});
    if (state().error)
        return state().error;
    if (argument.size != sizeof(argument) ||
        (argument.enable_size != 4 && argument.enable_size != 8) || argument.flags > 3 ||
        argument.enable_addr % argument.enable_size || command.size() > 511 ||
        argument.enable_bit >= 8 * argument.enable_size)
        return EINVAL;
    if (state().registered.contains(key))
        return EADDRINUSE;
    state().registered[key] = {command, argument.enable_size};
    std::size_t index = 0;
    while (index < state().events.size() && state().events[index] != command)
        index++;
    if (index == state().events.size())
        state().events.push_back(command);
    argument.write_index = static_cast<std::uint32_t>(index);
    if (state().enabled.contains(command))
        set_bit(argument.enable_addr, argument.enable_bit, argument.enable_size, true);
    return 0;
}

int unregister(const user_events_unreg& argument) {
    if (state().unregister_error)
        return state().unregister_error;
    const auto found = state().registered.find(
        {std::uint64_t{argument.disable_addr}, unsigned{argument.disable_bit}});
    if (found == state().registered.end())
        return ENOENT;
    set_bit(argument.disable_addr, argument.disable_bit, found->second.size, false);
    state().registered.erase(found);
    return 0;
}

} // namespace

/// In this program, the kernel's ioctls of other files are not needed.
extern "C" int ioctl(int descriptor, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void* const argument = va_arg(arguments, void*);
    va_end(arguments);
    const std::lock_guard lock(state().mutex);
    int error = ENOTTY;
    struct stat status;
    state().descriptor = descriptor;
    if (state().closings > 0) {
        state().closings--;
        close(descriptor);
    }
    if (fstat(descriptor, &status) != 0)
        error = EBADF;
    else if (state().exists && S_ISFIFO(status.st_mode) && request == USER_EVENTS_REG)
        error = register_event(*static_cast<user_events_reg*>(argument));
    else if (state().exists && S_ISFIFO(status.st_mode) && request == USER_EVENTS_UNREG)
        error = unregister(*static_cast<user_events_unreg*>(argument));
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

namespace selftest {

FakeFile::FakeFile() {
    static int count = 0;
    path_ = "/tmp/user_events_" + std::to_string(getpid()) + "_" + std::to_string(count++);
    if (mkfifo(path_.c_str(), 0600) != 0)
        throw std::runtime_error("mkfifo " + path_);
    reader_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    setenv("USER_EVENTS_FILE", path_.c_str(), 1);
    const std::lock_guard lock(state().mutex);
    state().exists = true;
}

FakeFile::~FakeFile() {
    close(reader_);
    unlink(path_.c_str());
    unsetenv("USER_EVENTS_FILE");
    const std::lock_guard lock(state().mutex);
    state().exists = false;
    state().error = state().unregister_error = 0;
    state().registered.clear();
    state().events.clear();
    state().enabled.clear();
}

void FakeFile::enable(const std::string& command) {
    const std::lock_guard lock(state().mutex);
    state().enabled.insert(command);
    for (const auto& [key, registration] : state().registered)
        if (registration.command == command)
            set_bit(key.first, key.second, registration.size, true);
}

void FakeFile::disable(const std::string& command) {
    const std::lock_guard lock(state().mutex);
    state().enabled.erase(command);
    for (const auto& [key, registration] : state().registered)
        if (registration.command == command)
            set_bit(key.first, key.second, registration.size, false);
}

Bytes FakeFile::take() {
    Bytes bytes(65536);
    const ssize_t size = read(reader_, bytes.data(), bytes.size());
    bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return bytes;
}

void FakeFile::fail_with(int error) {
    const std::lock_guard lock(state().mutex);
    state().error = error;
}

void FakeFile::keep_registrations(int error) {
    const std::lock_guard lock(state().mutex);
    state().unregister_error = error;
}

void FakeFile::refuse_records(int descriptor) const {
    const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fcntl(reader, F_SETSIG, fcntl(descriptor, F_GETSIG)) != 0 ||
        dup3(reader, descriptor, O_CLOEXEC) != descriptor)
        throw std::runtime_error("replace a descriptor");
    close(reader);
}

void FakeFile::close_before_ioctl(int count) {
    const std::lock_guard lock(state().mutex);
    state().closings = count;
}

std::size_t registrations() {
    const std::lock_guard lock(state().mutex);
    return state().registered.size();
}

std::size_t registrations(const std::string& command) {
    const std::lock_guard lock(state().mutex);
    return static_cast<std::size_t>(
        std::count_if(state().registered.begin(), state().registered.end(),
                      [&](const auto& each) { return each.second.command == command; }));
}

std::vector<std::string> commands() {
    const std::lock_guard lock(state().mutex);
    return state().events;
}

int last_descriptor() {
    const std::lock_guard lock(state().mutex);
    return state().descriptor;
}

} // namespace selftest
