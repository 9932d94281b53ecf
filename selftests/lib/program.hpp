// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "child.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <cstddef>
#include <string>

namespace selftest {

/// What a program does on request. It answers each request with an int.
enum class Request : char {
    add,            ///< registers the bit; the errno
    add_in_thread,  ///< the same in another thread
    remove,         ///< unregisters the bit; the errno
    read,           ///< the bit
    record,         ///< writes a record; the errno
    fork,           ///< the bit that a forked child finds
    pass_on,        ///< forks; the child goes on in place of the program; 0
    execute,        ///< executes this program anew, with nothing registered; 0
    lend,           ///< starts a process that shares the memory and sleeps; its number
    drop,           ///< gives the page of the bit back to the kernel; 0
    is_dropped,     ///< whether the page is still absent
    start_thread,   ///< starts a thread that sleeps; its number
    replace_thread, ///< that thread starts another one and ends; 0
    rename,         ///< changes the name of its first thread to "renamed"; 0
    become_nobody,  ///< changes its user to 65534; 0
    flood,          ///< writes flood_size records in 100 threads; how many writes failed
    flood_politely, ///< for a second, writes whenever its bit is 1; how many records
    record_large,   ///< writes a record that no buffer can hold; the errno
    end,            ///< exits, without an answer
};

/// How many records a flood has.
inline constexpr int flood_size = 2'000;

/// A program that has an event and follows requests.
class Program {
public:
    /// `page` has the bit; without it, the program has private memory.
    explicit Program(const Event& event, bool registers = true, std::byte* page = nullptr);

    int ask(Request request) { return child_.channel().ask<int>(request); }
    int bit() { return ask(Request::read); }
    /// Executes `path`, a copy of the current program, with nothing registered.
    void execute(const std::string& path = "/proc/thread-self/exe");
    void end() {
        child_.channel().send(Request::end);
        child_.wait();
    }
    pid_t pid() const { return child_.pid(); }

private:
    Child child_;
};

/// An event that a process of its own keeps registered. Programs that the test forks later inherit
/// no registration.
class Kept {
public:
    Kept() : event(unique_name("kept")), keeper_(event) {}

    int bit() { return keeper_.bit(); }
    std::string status() const;

    const Event event;

private:
    Program keeper_;
};

} // namespace selftest
