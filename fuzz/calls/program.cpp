// SPDX-License-Identifier: GPL-2.0-only
#include "program.hpp"

#include "deadline.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <initializer_list>
#include <iostream>
#include <linux/membarrier.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

using namespace selftest;

namespace calls {

namespace {

/// Returns the numbers of events and of events in use, as text.
std::string status_counts() {
    const std::string text = status();
    return text.substr(std::min(text.find("Active: "), text.size()));
}

/// Returns user_events_status without what may differ between implementations: the order of the
/// lines, the suffixes of multi-format events, and the numbers of lost records.
std::string comparable_status() {
    std::vector<std::string> lines;
    for (std::string line : lines_of(status())) {
        line = line.substr(0, std::min(line.find(" # lost"), line.find("; lost")));
        const std::size_t dot = line.find('.');
        if (dot != std::string::npos)
            line.erase(dot, line.find(' ', dot) - dot);
        lines.push_back(line);
    }
    std::ranges::sort(lines);
    std::string text;
    for (const std::string& line : lines)
        text += "|" + line;
    return text;
}

/// Waits for grace periods and for the work that the kernel does after them.
void wait_for_kernel(unsigned rounds) {
    for (; rounds > 0; rounds--) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

} // namespace

/// The function that runs a kind of operation, and the errors that it may return.
/// Errors: also is_permitted() of the stress test.
struct Program::Handler {
    Kind kind;
    Result (Program::*run)(const Operation&);
    std::vector<int> errors;
};

const std::array<Program::Handler, kinds> Program::handlers{{
    {Kind::open, &Program::open_file, {EACCES}},
    {Kind::close, &Program::close_file, {}},
    {Kind::duplicate, &Program::duplicate, {}},
    {Kind::reg, &Program::reg, {EINVAL, E2BIG, EFAULT, EADDRINUSE, EPERM, EMFILE, ENOTTY}},
    {Kind::unreg, &Program::unreg, {EINVAL, E2BIG, EFAULT, ENOENT, ENOTTY}},
    {Kind::del, &Program::del, {EINVAL, EFAULT, ENOENT, EBUSY, EPERM, ENOTTY}},
    {Kind::control, &Program::control, {ENOTTY}},
    {Kind::write, &Program::write, {EFAULT, EINVAL, ENOENT, EBADF, E2BIG, ESPIPE}},
    {Kind::line, &Program::line, {EINVAL, EADDRINUSE, ENOENT, EBUSY, EMFILE, EPERM, EACCES}},
    // For a filter that the kernel cannot parse, it may return a number that is not a usual errno.
    {Kind::event_file,
     &Program::event_file,
     {EINVAL, ENOENT, EEXIST, EBUSY, ENODEV, EACCES, EPERM, ESRCH}},
    // EBUSY: trace_pipe has one reader at a time.
    {Kind::read, &Program::read, {ENOENT, EINVAL, ESPIPE, ENODEV, EBADF, EAGAIN, EACCES, EBUSY}},
    {Kind::perf, &Program::perf, {ENOENT, EINVAL, EACCES}},
    {Kind::perf_control, &Program::perf_control, {EINVAL, ENOENT, EEXIST, EBADF, EPERM, ESRCH}},
    // See fork_child().
    {Kind::fork, nullptr, {}},
    {Kind::reap, &Program::reap, {}},
    {Kind::map, &Program::map, {ENOMEM, EINVAL, EFAULT, EBADF}},
    {Kind::limit, &Program::limit, {EINVAL, EACCES}},
    {Kind::rule, &Program::rule, {EINVAL, ENOENT, EACCES}},
    {Kind::mark, &Program::mark, {EBADF, EFAULT, EINVAL, E2BIG, EACCES}},
    {Kind::share, &Program::share, {EBADF, EINVAL, EBUSY, ENOTTY}},
}};

Program::Program(Coverage& coverage, Log log)
    : coverage_(coverage), log_(log), root_(tracing_file("")), counts_(status_counts()) {
    // The contents of the buffers are not checked: small ones are enough.
    write_text(root_ + "buffer_size_kb", "16");
    // Keeps an event enabled. When the first event is enabled, and the last one disabled, the
    // kernel patches the scheduler's code, which is slow.
    const std::string instance = root_ + "instances/fuzz";
    if (mkdir(instance.c_str(), 0700) != 0 && errno != EEXIST)
        throw_errno("mkdir " + instance);
    write_text(instance + "/buffer_size_kb", "16");
    expect(write_text(instance + "/events/oom/oom_score_adj_update/enable", "1"),
           "enable an event of the kernel's");
}

Program::~Program() {
    write_text(root_ + "instances/fuzz/events/enable", "0");
    rmdir((root_ + "instances/fuzz").c_str());
}

void Program::run(const Input& input) {
    memory_.reset();
    logged_memory_ = memory_.contents();
    coverage_.begin_input();
    has_triggers_ = std::ranges::any_of(input, [](const Operation& operation) {
        return operation.kind == Kind::rule ||
               (operation.kind == Kind::event_file && operation.arguments[2] % 4 == 2);
    });
    has_rules_ = std::ranges::any_of(
        input, [](const Operation& operation) { return operation.kind == Kind::rule; });
    has_limit_ = std::ranges::any_of(
        input, [](const Operation& operation) { return operation.kind == Kind::limit; });
    perform(input);
    end_children();
    disable_all();
    verify();
    clean();
}

void Program::perform(Operations operations) {
    while (!operations.empty()) {
        const Operation& operation = operations.front();
        operations = operations.subspan(1);
        if (operation.kind == Kind::fork) {
            const std::size_t of_child =
                std::min<std::size_t>(operation.arguments[0] % 8U, operations.size());
            fork_child(operation, operations.first(of_child));
            operations = operations.subspan(of_child);
        } else {
            execute(operation);
        }
    }
}

void Program::execute(const Operation& operation) {
    coverage_.begin_operation();
    const auto run = handlers.at(static_cast<std::size_t>(operation.kind)).run;
    const Result result = (this->*run)(operation);
    log(operation, result);
    if (!result)
        return;
    coverage_.end_operation(operation.kind, *result);
    check(operation, *result);
}

void Program::log(const Operation& operation, const Result& result) {
    if (log_ == Log::nothing)
        return;
    std::cout << "# " << std::string(2UL * depth_, ' ') << print(operation) << " -> ";
    if (result)
        std::cout << *result;
    else
        std::cout << "skipped: no such object";
    if (log_ == Log::state)
        std::cout << state_changes(operation);
    std::cout << std::endl;
}

/// Returns the words and the user_events_status that have changed since the last call, after a tab.
std::string Program::state_changes(const Operation& operation) {
    // In-tree, more is asynchronous after the exit of a child.
    wait_for_kernel(operation.kind == Kind::fork ? 20 : 3);
    std::ostringstream text("\t", std::ios::ate);
    const Memory::Contents memory = memory_.contents();
    for (std::size_t at = 0; at < memory.size(); at++)
        if (memory[at] != logged_memory_[at])
            text << " +" << std::hex << at << "=" << int{memory[at]};
    logged_memory_ = memory;
    // Only root can read it.
    if (const std::string status = unprivileged_ ? logged_status_ : comparable_status();
        status != logged_status_)
        text << " " << (logged_status_ = status);
    return text.str();
}

void Program::check(const Operation& operation, const Outcome& outcome) const {
    // A comparison of two kernels finds these errors.
    if (log_ == Log::state)
        return;
    const auto& errors = handlers.at(static_cast<std::size_t>(operation.kind)).errors;
    if (!outcome.ok() && std::ranges::find(errors, outcome.error()) == errors.end())
        throw Violation("unexpected error " + std::string(strerrorname_np(outcome.error())) + ": " +
                        print(operation));
}

Program::Result Program::map(const Operation& operation) {
    const auto& arguments = operation.arguments;
    return Outcome::of(memory_.change(arguments[0], arguments[1], arguments[2]));
}

// Children

void Program::fork_child(const Operation& operation, Operations operations) {
    // Limits the number of processes: at most three children, and only children of depth 1 fork.
    if (depth_ > 1 || children_.size() > 2)
        return;
    int release[2];
    if (pipe(release) != 0)
        throw_errno("pipe");
    for (const Slot& slot : slots_)
        if (slot.file)
            slot.file->table->shared = true;
    std::cout << std::flush;
    coverage_.begin_operation();
    const pid_t pid = fork();
    if (pid < 0)
        throw_errno("fork");
    if (pid == 0) {
        ::close(release[1]);
        run_as_child(operation, operations, release[0]);
    }
    coverage_.end_operation(Kind::fork, succeeds());
    ::close(release[0]);
    children_.push_back({pid, release[1]});
    const bool in_background = operation.arguments[1] & 1U;
    if (!in_background)
        end_children();
    log(operation, succeeds());
}

void Program::run_as_child(const Operation& operation, Operations operations, int release) {
    const bool in_background = operation.arguments[1] & 1U;
    unprivileged_ = operation.arguments[1] & 2U;
    children_.clear();
    memory_.in_child();
    depth_++;
    int status = 0;
    try {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // The C library's setresuid() also synchronizes all threads, of which there are none.
        if (unprivileged_ && syscall(SYS_setresuid, 65534, 65534, 65534) != 0)
            throw_errno("setresuid");
        coverage_.in_child();
        perform(operations);
        end_children();
        char alone = 0;
        if (in_background && ::read(release, &alone, 1) == 1 && alone && !unprivileged_) {
            disable_all();
            verify();
        }
    } catch (const std::exception& error) {
        std::cout << "# in a child: " << error.what() << std::endl;
        status = 1;
    }
    std::cout << std::flush;
    _exit(status);
}

Program::Result Program::reap(const Operation& operation) {
    if (children_.empty())
        return std::nullopt;
    const std::size_t which = operation.arguments[0] % children_.size();
    const Child child = children_[which];
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(which));
    end_child(child);
    return succeeds();
}

void Program::end_children() {
    while (!children_.empty()) {
        const Child child = children_.back();
        children_.pop_back();
        end_child(child);
    }
}

void Program::end_child(const Child& child) {
    // The child can verify its bits only if no other process may have enabled an event with perf.
    const bool alone =
        depth_ == 0 && children_.empty() &&
        std::ranges::all_of(perf_slots_, [](const PerfSlot& slot) { return slot.descriptor < 0; });
    const char message = alone ? 1 : 0;
    [[maybe_unused]] const auto written = ::write(child.release, &message, 1);
    int status = 0;
    waitpid(child.pid, &status, 0);
    ::close(child.release);
    if (status != 0)
        throw Violation("a child exited with the wait status " + std::to_string(status));
}

/// Enables and disables all events. Checks that the bits follow, and that nothing else in memory
/// changes. No other recorder may have enabled an event.
void Program::verify() {
    if (memory_.bits().empty())
        return;
    memory_.make_writable();
    // Bits that could not be written before are written at the next change.
    for (const bool state : {true, false}) {
        const Memory::Contents before = memory_.contents();
        if (!switch_events(state ? "1" : "0"))
            throw Violation("bits are registered, but no event exists");
        // A change does not wait for absent pages: the program writes these bits later.
        std::string wrong;
        if (!eventually([&] { return (wrong = memory_.wrong(before, state)).empty(); }))
            throw Violation((state ? "all events enabled:" : "all events disabled:") + wrong);
    }
}

void Program::clean() {
    while (!memory_.bits().empty()) {
        const Memory::Bit bit = memory_.bits().begin()->first;
        if (!cleaner_.unregister(reinterpret_cast<void*>(bit.first), bit.second).ok())
            throw Violation("cannot unregister a registered bit");
        if (Memory::value(bit) != false)
            throw Violation("UNREG does not clear the bit");
        memory_.remove(bit);
    }
    for (Slot& slot : slots_)
        close_slot(slot);
    // The kernel releases asynchronously what exited processes, and tracing, have used.
    const bool removed = eventually([&] {
        if (status_counts() == counts_)
            return true;
        remove_events();
        return status_counts() == counts_;
    });
    if (!removed)
        throw Violation("events remain in use:\n" + status());
}

} // namespace calls
