// SPDX-License-Identifier: GPL-2.0-only
#include "program.hpp"

#include "deadline.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <initializer_list>
#include <iostream>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

using namespace selftest;

namespace calls {

namespace {

/// How many events there are, and how many are in use.
std::string status_counts() {
    const std::string text = status();
    return text.substr(std::min(text.find("Active: "), text.size()));
}

} // namespace

/// How each kind of operation is done, and how it may fail.
struct Program::Act {
    Kind kind;
    Answer (Program::*act)(const Operation&);
    std::vector<int> errors;
};

const std::array<Program::Act, kinds> Program::acts{{
    {Kind::open, &Program::open_file, {EACCES}},
    {Kind::close, &Program::close_file, {}},
    {Kind::duplicate, &Program::duplicate, {}},
    {Kind::reg, &Program::reg, {EINVAL, E2BIG, EFAULT, EADDRINUSE, EPERM, EMFILE, ENOTTY}},
    {Kind::unreg, &Program::unreg, {EINVAL, E2BIG, EFAULT, ENOENT, ENOTTY}},
    {Kind::del, &Program::del, {EINVAL, EFAULT, ENOENT, EBUSY, EPERM, ENOTTY}},
    {Kind::control, &Program::control, {ENOTTY}},
    {Kind::write, &Program::write, {EFAULT, EINVAL, ENOENT, EBADF, E2BIG, ESPIPE}},
    {Kind::line, &Program::line, {EINVAL, EADDRINUSE, ENOENT, EBUSY, EMFILE, EPERM, EACCES}},
    // Where the kernel can't parse a filter, it answers a number that means no errno.
    {Kind::event_file,
     &Program::event_file,
     {EINVAL, ENOENT, EEXIST, EBUSY, ENODEV, EACCES, EPERM, ESRCH}},
    // EBUSY: each trace_pipe has one reader at a time.
    {Kind::read, &Program::read, {ENOENT, EINVAL, ESPIPE, ENODEV, EBADF, EAGAIN, EACCES, EBUSY}},
    {Kind::perf, &Program::perf, {ENOENT, EINVAL, EACCES}},
    {Kind::perf_control, &Program::perf_control, {EINVAL, ENOENT, EEXIST, EBADF, EPERM, ESRCH}},
    // Done by fork_child().
    {Kind::fork, nullptr, {}},
    {Kind::reap, &Program::reap, {}},
    {Kind::map, &Program::map, {ENOMEM, EINVAL, EFAULT, EBADF}},
    {Kind::limit, &Program::limit, {EINVAL, EACCES}},
}};

Program::Program(Coverage& coverage, bool talks)
    : coverage_(coverage), talks_(talks), root_(tracing_file("")), counts_(status_counts()) {
    // What is recorded is not what this is about.
    write_text(root_ + "buffer_size_kb", "16");
    // The first event of all that is enabled and the last one that is disabled have tracing patch
    // the scheduler's code: one that stays spares the time.
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
    coverage_.begin_input();
    has_triggers_ = std::ranges::any_of(input, [](const Operation& operation) {
        return operation.kind == Kind::event_file && operation.arguments[2] % 4 == 2;
    });
    has_limit_ = std::ranges::any_of(
        input, [](const Operation& operation) { return operation.kind == Kind::limit; });
    perform(input);
    end_children();
    quieten();
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
            act(operation);
        }
    }
}

void Program::act(const Operation& operation) {
    coverage_.begin_operation();
    const Answer answer = (this->*acts.at(static_cast<std::size_t>(operation.kind)).act)(operation);
    if (talks_) {
        std::cout << "# " << std::string(2UL * depth_, ' ') << print(operation) << " -> ";
        if (answer)
            std::cout << *answer << std::endl;
        else
            std::cout << "nothing to do it with" << std::endl;
    }
    if (!answer)
        return;
    coverage_.end_operation(operation.kind, *answer);
    judge(operation, *answer);
}

void Program::judge(const Operation& operation, const Outcome& outcome) const {
    const auto& errors = acts.at(static_cast<std::size_t>(operation.kind)).errors;
    if (!outcome.ok() && std::ranges::find(errors, outcome.error()) == errors.end())
        throw Broken(print(operation) +
                     " answers what it never may: " + strerrorname_np(outcome.error()));
}

Program::Answer Program::map(const Operation& operation) {
    const auto& arguments = operation.arguments;
    return Outcome::of(memory_.change(arguments[0], arguments[1], arguments[2]));
}

// Children

void Program::fork_child(const Operation& operation, Operations operations) {
    // Few, and they are few who have some of their own.
    if (depth_ > 1 || children_.size() > 2)
        return;
    int release[2];
    if (pipe(release) != 0)
        throw_errno("pipe");
    for (const Slot& slot : slots_)
        if (slot.file)
            slot.file->shared = true;
    std::cout << std::flush;
    coverage_.begin_operation();
    const pid_t pid = fork();
    if (pid < 0)
        throw_errno("fork");
    if (pid == 0) {
        ::close(release[1]);
        live_as_child(operation, operations, release[0]);
    }
    coverage_.end_operation(Kind::fork, succeeds());
    ::close(release[0]);
    children_.push_back({pid, release[1]});
    const bool stays = operation.arguments[1] & 1U;
    if (!stays)
        end_children();
}

void Program::live_as_child(const Operation& operation, Operations operations, int release) {
    const bool stays = operation.arguments[1] & 1U;
    nobody_ = operation.arguments[1] & 2U;
    children_.clear();
    memory_.in_child();
    depth_++;
    int status = 0;
    try {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // By itself setresuid() has all threads of the program, which are none, do the same.
        if (nobody_ && syscall(SYS_setresuid, 65534, 65534, 65534) != 0)
            throw_errno("setresuid");
        coverage_.in_child();
        perform(operations);
        end_children();
        char alone = 0;
        if (stays && ::read(release, &alone, 1) == 1 && alone && !nobody_) {
            quieten();
            verify();
        }
    } catch (const std::exception& error) {
        std::cout << "# in a child: " << error.what() << std::endl;
        status = 1;
    }
    std::cout << std::flush;
    _exit(status);
}

Program::Answer Program::reap(const Operation& operation) {
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
    // It can look at its bits if nobody but tracing has the events enabled: others that stay may
    // have some of perf's.
    const bool alone =
        depth_ == 0 && children_.empty() &&
        std::ranges::all_of(perf_slots_, [](const PerfSlot& slot) { return slot.descriptor < 0; });
    const char message = alone ? 1 : 0;
    [[maybe_unused]] const auto written = ::write(child.release, &message, 1);
    int status = 0;
    waitpid(child.pid, &status, 0);
    ::close(child.release);
    if (status != 0)
        throw Broken("a child ended with " + std::to_string(status));
}

// The end

/// The bits follow the events' state, and nothing else in memory changes. Nobody else has the
/// events enabled.
void Program::verify() {
    if (memory_.bits().empty())
        return;
    memory_.make_writable();
    // What could not be written before is, at the next change.
    for (const bool state : {true, false}) {
        const Memory::Contents before = memory_.contents();
        if (!switch_events(state ? "1" : "0"))
            throw Broken("there is no event, and bits are registered");
        // Whose pages are absent, tracing does not wait for each time.
        std::string wrong;
        if (!eventually([&] { return (wrong = memory_.wrong(before, state)).empty(); }))
            throw Broken((state ? "all events enabled:" : "all events disabled:") + wrong);
    }
}

void Program::clean() {
    while (!memory_.bits().empty()) {
        const Memory::Bit bit = memory_.bits().begin()->first;
        if (!cleaner_.unregister(reinterpret_cast<void*>(bit.first), bit.second).ok())
            throw Broken("what is registered can't be unregistered");
        if (Memory::value(bit) != false)
            throw Broken("a bit stays after it was unregistered");
        memory_.remove(bit);
    }
    for (Slot& slot : slots_)
        close_slot(slot);
    // Users of events that went with a process, or inside of tracing, go in the kernel's time.
    const bool gone = eventually([&] {
        if (status_counts() == counts_)
            return true;
        remove_events();
        return status_counts() == counts_;
    });
    if (!gone)
        throw Broken("events are left:\n" + status());
}

} // namespace calls
