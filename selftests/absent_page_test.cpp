// SPDX-License-Identifier: GPL-2.0-only
// A bit in an absent page: a task of the program writes it before it returns to user space.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <linux/futex.h>
#include <memory>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

/// What a program does that sleeps, and only reads its bit when it is asked to.
enum class Request : char { discard, read, unregister };

/// Runs until killed.
int answer_requests(Channel& channel, Mapping& memory, DataFile& file) {
    for (Request request; read(channel.descriptor(), &request, 1) == 1;) {
        const std::uint32_t word = request == Request::read ? memory.at<Word>()->load() : 0;
        if (request == Request::discard)
            expect(Outcome::of(madvise(memory.at(), page_size, MADV_DONTNEED)), "MADV_DONTNEED");
        if (request == Request::unregister) {
            expect(file.unregister(memory.at(), 0), "UNREG");
            file.close();
        }
        channel.send(word);
    }
    return 1;
}

int serve(Channel& channel, const Event& event) {
    Mapping memory(1);
    DataFile file;
    file.must_register(memory.at(), 0, event.name());
    channel.send(true);
    return answer_requests(channel, memory, file);
}

/// A program that sleeps.
class Sleeper {
public:
    explicit Sleeper(const Event& event)
        : child_([=](Channel& channel) { return serve(channel, event); }) {
        child_.channel().receive<bool>();
    }

    std::uint32_t ask(Request request) { return child_.channel().ask<std::uint32_t>(request); }
    void send(Request request) { child_.channel().send(request); }
    std::uint32_t receive() { return child_.channel().receive<std::uint32_t>(); }
    pid_t pid() const { return child_.pid(); }
    void sleeps() const {
        REQUIRE(eventually([&] { return state_of(pid(), pid()) == 'S'; }));
    }

private:
    Child child_;
};

void change(const Event& event, bool enable) {
    REQUIRE((enable ? event.enable() : event.disable()) == succeeds(1));
}

} // namespace

TEST_CASE("A sleeping program finds its bit right when it wakes up", "[waits]") {
    const Event event(unique_name("sleeps"));
    Sleeper program(event);
    for (unsigned round = 0; round < 20; round++) {
        CAPTURE(round);
        program.ask(Request::discard);
        program.sleeps();
        change(event, round % 2 == 0);
        CHECK(program.ask(Request::read) == (round % 2 == 0));
    }
}

TEST_CASE("A stopped program finds its bit right when it continues") {
    const Event event(unique_name("stopped"));
    Sleeper program(event);
    program.ask(Request::discard);
    const bool traced = GENERATE(false, true);
    CAPTURE(traced);
    const char stopped = traced ? 't' : 'T';
    if (traced) {
        REQUIRE(ptrace(PTRACE_SEIZE, program.pid(), nullptr, nullptr) == 0);
        REQUIRE(ptrace(PTRACE_INTERRUPT, program.pid(), nullptr, nullptr) == 0);
        REQUIRE(waitpid(program.pid(), nullptr, __WALL) == program.pid());
    } else {
        REQUIRE(kill(program.pid(), SIGSTOP) == 0);
    }
    REQUIRE(eventually([&] { return state_of(program.pid(), program.pid()) == stopped; }));
    change(event, true);
    program.send(Request::read);
    CHECK(state_of(program.pid(), program.pid()) == stopped);
    if (traced)
        REQUIRE(ptrace(PTRACE_DETACH, program.pid(), nullptr, nullptr) == 0);
    else
        REQUIRE(kill(program.pid(), SIGCONT) == 0);
    CHECK(program.receive() == 1);
    change(event, false);
}

TEST_CASE("A running program is interrupted to write its bit") {
    const Event event(unique_name("runs"));
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    struct Shared {
        std::atomic<std::uint32_t> seen;
        std::atomic<bool> discard;
    };
    auto& state = *shared.at<Shared>();
    state.discard = true;
    const Child program([&](Channel&) -> int {
        Mapping memory(1);
        DataFile file;
        file.must_register(memory.at(), 0, event.name());
        for (;; state.seen = memory.at<Word>()->load())
            if (state.discard) {
                madvise(memory.at(), page_size, MADV_DONTNEED);
                state.discard = false;
            }
    });
    for (unsigned round = 0; round < 20; round++) {
        const bool enable = round % 2 == 0;
        state.discard = true;
        REQUIRE(eventually([&] { return !state.discard; }));
        change(event, enable);
        // It makes no system call.
        CHECK(eventually([&] { return state.seen == enable; }));
    }
}

namespace {

/// A program whose other tasks sleep until they are asked for the bit.
class Tasks {
public:
    /// With CLONE_VM alone, they are processes that share the memory.
    Tasks(const Event& event, unsigned count, int flags) : flags_(flags) {
        for (unsigned i = 0; i < count; i++)
            wake_.emplace_back(eventfd(0, 0));
        child_ = std::make_unique<Child>([&](Channel& channel) { return serve(channel, event); });
        child_->channel().receive<std::uint32_t>();
    }

    /// Changes the event while the page is absent and all tasks sleep. Returns the bit that the
    /// first one finds that wakes up.
    std::uint32_t bit_after(const Event& event, bool enable, std::size_t task) {
        ask(Request::discard);
        change(event, enable);
        return wake(task);
    }

    void ask(Request request) {
        child_->channel().ask<std::uint32_t>(request);
        REQUIRE(eventually([&] { return state_of(child_->pid(), child_->pid()) == 'S'; }));
    }

    /// Wakes a task up. Returns the bit that it finds.
    std::uint32_t wake(std::size_t task) {
        const std::uint64_t one = 1;
        REQUIRE(write(wake_[task].number(), &one, sizeof(one)) == sizeof(one));
        return child_->channel().receive<std::uint32_t>();
    }

private:
    struct Task {
        int wake, answer;
        const Word* word;
        std::vector<char> stack = std::vector<char>(16384);
    };

    /// A process with CLONE_VM has the errno of its parent, so this only makes system calls.
    static int answer(void* argument) {
        const Task& task = *static_cast<Task*>(argument);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::uint64_t value; read(task.wake, &value, sizeof(value)) == sizeof(value);) {
            const std::uint32_t bit = task.word->load();
            (void)!write(task.answer, &bit, sizeof(bit));
        }
        return 0;
    }

    int serve(Channel& channel, const Event& event) {
        Mapping memory(1);
        DataFile file;
        file.must_register(memory.at(), 0, event.name());
        std::vector<std::unique_ptr<Task>> tasks;
        for (const Descriptor& wake : wake_) {
            tasks.push_back(std::make_unique<Task>(
                Task{wake.number(), channel.descriptor(), memory.at<Word>()}));
            Task& task = *tasks.back();
            expect(Outcome::of(clone(answer, task.stack.data() + task.stack.size(), flags_, &task)),
                   "clone");
        }
        channel.send(std::uint32_t{0});
        return answer_requests(channel, memory, file);
    }

    const int flags_;
    std::vector<Descriptor> wake_;
    std::unique_ptr<Child> child_;
};

constexpr int thread_flags = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_FS | CLONE_FILES;

} // namespace

TEST_CASE("Each sleeping thread finds the bit right if it is the first to wake up", "[waits]") {
    const Event event(unique_name("threads"));
    const unsigned count = fewer_if_debug(200);
    Tasks tasks(event, count, thread_flags);
    bool enabled = false;
    for (unsigned thread = 0; thread < count; thread += count / 10) {
        CAPTURE(thread);
        enabled = !enabled;
        CHECK(tasks.bit_after(event, enabled, thread) == enabled);
    }
    if (enabled)
        change(event, false);
}

// A change interrupts 256 threads itself, and a work item finds all others.
TEST_CASE("Soon after a change, the last of very many threads, and a process that shares the "
          "memory, find the bit right",
          "[waits]") {
    const bool threads = GENERATE(true, false);
    CAPTURE(threads);
    const unsigned count = threads ? 400 : 1;
    const Event event(unique_name("others"));
    Tasks tasks(event, count, threads ? thread_flags : CLONE_VM | SIGCHLD);
    bool enabled = false;
    unsigned right = 0;
    CHECK(eventually([&] {
        enabled = !enabled;
        right += tasks.bit_after(event, enabled, count - 1) == enabled;
        return right == 5;
    }));
    if (enabled)
        change(event, false);
}

namespace {

/// Waits in a system call that a signal handler would end with EINTR, also with SA_RESTART. Returns
/// whether it ended as it should.
enum class Wait { poll, sleep, futex };

bool wait_undisturbed(Wait wait, Channel& channel) {
    pollfd input{channel.descriptor(), POLLIN, 0};
    std::uint32_t futex = 0;
    const timespec time{1, 0};
    switch (wait) {
    case Wait::poll:
        return poll(&input, 1, -1) == 1;
    case Wait::sleep:
        return nanosleep(&time, nullptr) == 0;
    case Wait::futex:
        return syscall(SYS_futex, &futex, FUTEX_WAIT_PRIVATE, 0, &time, nullptr, 0) == -1 &&
               errno == ETIMEDOUT;
    }
    return false;
}

} // namespace

TEST_CASE("A change ends no system call of a program that has to write its bit") {
    const Event event(unique_name("polls"));
    const Wait wait = GENERATE(Wait::poll, Wait::sleep, Wait::futex);
    CAPTURE(static_cast<int>(wait));
    Child program([&](Channel& channel) -> int {
        Mapping memory(1);
        DataFile file;
        file.must_register(memory.at(), 0, event.name());
        expect(Outcome::of(madvise(memory.at(), page_size, MADV_DONTNEED)), "MADV_DONTNEED");
        channel.send('r');
        const bool undisturbed = wait_undisturbed(wait, channel);
        channel.receive<char>();
        channel.send(static_cast<char>(undisturbed ? memory.at<Word>()->load() : 2u));
        channel.receive<char>();
        return 0;
    });
    REQUIRE(program.channel().receive<char>() == 'r');
    REQUIRE(eventually([&] { return state_of(program.pid(), program.pid()) == 'S'; }));
    for (unsigned round = 0; round < 21; round++)
        change(event, round % 2 == 0);
    CHECK(program.channel().ask<char>('g') == 1);
    change(event, false);
    program.channel().send('e');
    CHECK(program.wait() == 0);
}

TEST_CASE("A thread that begins while others toggle and discard the bit sees it right in the end",
          "[race]") {
    const Event event(unique_name("begins"));
    Mapping memory(1);
    DataFile file;
    file.must_register(memory.at(), 0, event.name());
    std::atomic<bool> stop{false};
    std::jthread discards([&] {
        while (!stop)
            madvise(memory.at(), page_size, MADV_DONTNEED);
    });
    std::jthread begins([&] {
        while (!stop)
            std::jthread([] {}).join();
    });
    for (Rounds rounds(50, 10000, 3s); rounds.next();) {
        change(event, true);
        change(event, false);
    }
    stop = true;
    discards.join();
    begins.join();
    change(event, true);
    CHECK(*memory.at<Word>() == 1);
    change(event, false);
    CHECK(*memory.at<Word>() == 0);
}

TEST_CASE("The module can be unloaded while tasks sleep that were to write bits") {
    module::Loaded loaded;
    const Event event(unique_name("unloads"));
    Tasks tasks(event, 2, thread_flags);
    tasks.ask(Request::discard);
    change(event, true);
    // Only the main thread writes the bit.
    tasks.ask(Request::unregister);
    change(event, false);
    CHECK(eventually([] { return module::unload().ok(); }));
    CHECK(tasks.wake(0) == 0);
    CHECK(module::load() == succeeds());
    CHECK(tasks.wake(1) == 0);
}
