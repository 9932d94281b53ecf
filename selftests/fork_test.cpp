// SPDX-License-Identifier: GPL-2.0-only
// fork: the child inherits the registrations that its parent has when the memory is copied.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "kernel_module.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "real_time.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <linux/sched.h>
#include <memory>
#include <optional>
#include <sched.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>

using namespace selftest;

namespace {

enum class Request : char { read, unregister, register_again, end };

/// A child that, on request, reports its copy of a word, and registers and unregisters bit 0 of it.
class Forked {
public:
    Forked(Word& word, DataFile& file, const std::string& command = {})
        : child_([&](Channel& channel) {
              while (true)
                  switch (channel.receive<Request>()) {
                  case Request::read:
                      channel.send(word.load());
                      break;
                  case Request::unregister:
                      channel.send(file.unregister(&word, 0).error());
                      break;
                  case Request::register_again:
                      channel.send(file.register_event(&word, 0, command).error());
                      break;
                  case Request::end:
                      // Run no destructors: the kernel has to clean up.
                      _exit(0);
                  }
              return 1;
          }) {}

    std::uint32_t word() { return child_.channel().ask<std::uint32_t>(Request::read); }
    int unregister() { return child_.channel().ask<int>(Request::unregister); }
    int register_again() { return child_.channel().ask<int>(Request::register_again); }
    int end() {
        child_.channel().send(Request::end);
        return child_.wait();
    }

private:
    Child child_;
};

/// A fork in a separate thread that stops after the memory has been copied and before the child
/// exists. The child reads its copy of a word and unregisters bit 0 of it twice. The fork uses the
/// system call, so that no lock of the C library is held while it is stopped.
class StoppedFork {
public:
    struct Seen {
        Outcome forked = fails(EAGAIN);
        std::uint32_t word = 0, word_at_exit = 0;
        Outcome unregistered = fails(EAGAIN), unregistered_again = fails(EAGAIN);
    };

    /// The child gets the number `pid`, if that is not 0.
    StoppedFork(Word& word, DataFile& file, pid_t pid = 0)
        : thread_([this, &word, &file, pid] { fork(word, file, pid); }) {
        if (!eventually([&] { return stop_.has_waiter(); }))
            throw std::runtime_error("the fork did not stop");
    }

    /// Lets the fork continue and waits until the child has exited.
    const Seen& finish() {
        stop_.resume();
        thread_.join();
        return seen_;
    }

private:
    void fork(Word& word, DataFile& file, pid_t requested_pid) {
        user_unreg unreg = unregistration(&word, 0);
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        if (requested_pid != 0) {
            arguments.set_tid = address_of(&requested_pid);
            arguments.set_tid_size = 1;
        }
        const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
        if (pid == 0) {
            seen_.word = word;
            seen_.unregistered = file.control(DIAG_IOCSUNREG, &unreg);
            seen_.unregistered_again = file.control(DIAG_IOCSUNREG, &unreg);
            seen_.word_at_exit = word;
            _exit(0);
        }
        seen_.forked = Outcome::of(pid < 0 ? -1 : 0);
        if (pid > 0)
            waitpid(pid, nullptr, 0);
    }

    Mapping shared_{1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
    Seen& seen_ = *new (shared_.at()) Seen;
    ForkStop stop_;
    std::jthread thread_;
};

/// The page in which the stack of this process starts.
void* stack_page() {
    // startstack, field 28. Only field 2, in parentheses, can contain spaces.
    const std::string stat = read_text("/proc/self/stat");
    std::istringstream words(stat.substr(stat.rfind(')') + 2));
    std::string word;
    for (int i = 3; i <= 28; i++)
        words >> word;
    return reinterpret_cast<void*>(std::stoul(word) / page_size * page_size);
}

} // namespace

TEST_CASE("A child inherits registrations, and its own copy of the bit follows the event",
          "[race]") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("inherited"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Forked child(word, file);
    for (int round = 0; round < 3; round++) {
        {
            Enabled enabled{event};
            CHECK(eventually([&] { return child.word() == 1; }));
            CHECK(eventually([&] { return word == 1; }));
        }
        CHECK(eventually([&] { return child.word() == 0; }));
        CHECK(eventually([&] { return word == 0; }));
    }
    CHECK(child.end() == 0);
}

TEST_CASE("A child forked while the event is enabled has the bit set and follows changes") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("enabled"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    REQUIRE(event.enable() == succeeds(1));
    Forked child(word, file);
    CHECK(child.word() == 1);
    REQUIRE(event.disable() == succeeds(1));
    CHECK(eventually([&] { return child.word() == 0; }));
    CHECK(eventually([&] { return word == 0; }));
    CHECK(child.end() == 0);
}

namespace {

/// A live patch of the functions to which the module is attached (kernel/tests/live_patch.c).
class LivePatch {
public:
    /// Throws std::system_error, or std::runtime_error if a task does not change over.
    LivePatch() {
        expect(load_kernel_module("/modules/" + name + ".ko"), "load " + name + ".ko");
        if (!eventually([] { return read_text(state + "transition") == "0\n"; }))
            throw std::runtime_error("the live patch does not become complete");
    }
    LivePatch(const LivePatch&) = delete;
    LivePatch& operator=(const LivePatch&) = delete;
    ~LivePatch() {
        write_text(state + "enabled", "0");
        eventually([] { return syscall(SYS_delete_module, name.c_str(), O_NONBLOCK) == 0; });
    }
    /// How often each function was called: `forks` and `exits`.
    static int calls(const std::string& which) {
        return std::stoi(read_text("/sys/module/" + name + "/parameters/" + which));
    }
    static bool is_possible() { return exists("/sys/kernel/livepatch"); }

private:
    inline static const std::string name = "user_events_live_patch",
                                    state = "/sys/kernel/livepatch/" + name + "/";
};

/// Records in an instance the calls of kernel functions to which the module is attached, too.
class TracedFunctions {
public:
    /// Throws std::system_error.
    void by_function_tracer() {
        for (const char* const function : functions)
            expect(write_text(tracer_.path("set_ftrace_filter"), function + std::string("\n"),
                              O_APPEND),
                   function);
        expect(write_text(tracer_.path("current_tracer"), "function"), "current_tracer");
    }
    /// `letter` is p for kprobes and f for function probes. Throws std::system_error.
    void by_probes(char letter) {
        for (const char* const function : functions) {
            const std::string name = "probes/" + unique_name(function);
            probes_.push_back(std::make_unique<Definition>(
                "dynamic_events", std::string(1, letter) + ":" + name + " " + function,
                "-:" + name));
            enables_.push_back(tracer_.path("events/" + name + "/enable"));
            expect(write_text(enables_.back(), "1"), enables_.back());
        }
    }
    void by_live_patch() { patch_.emplace(); }
    ~TracedFunctions() {
        for (const std::string& enable : enables_)
            write_text(enable, "0");
    }
    /// Whether each of the functions was recorded.
    bool all_seen() const {
        if (patch_)
            return patch_->calls("forks") >= 3 && patch_->calls("exits") >= 3;
        const std::string trace = read_text(tracer_.path("trace"));
        return std::ranges::all_of(functions, [&](const std::string& function) {
            return std::ranges::any_of(lines_of(trace), [&](const std::string& line) {
                return line.find(" " + function + " ") != line.npos ||
                       line.find("(" + function) != line.npos;
            });
        });
    }

private:
    static constexpr const char* functions[] = {"uprobe_dup_mmap", "exit_mmap"};

    const Instance tracer_;
    std::vector<std::unique_ptr<Definition>> probes_;
    std::vector<std::string> enables_;
    std::optional<LivePatch> patch_;
};

} // namespace

TEST_CASE("A child inherits registrations while other tracers are attached to forks and exits",
          "[long]") {
    // ftrace then calls the module with preemption disabled.
    TracedFunctions traced;
    SECTION("the function tracer") {
        CHECK_NOTHROW(traced.by_function_tracer());
    }
    SECTION("kprobes") {
        CHECK_NOTHROW(traced.by_probes('p'));
    }
    // Linux has them since 6.5.
    if (read_text(tracing_file("README")).find("f[:[<group>/]") != std::string::npos)
        SECTION("function probes") {
            CHECK_NOTHROW(traced.by_probes('f'));
        }

    if (LivePatch::is_possible()) {
        SECTION("a live patch") {
            CHECK_NOTHROW(traced.by_live_patch());
        }
        SECTION("a live patch that is older than the module") {
            const module::Loaded loaded;
            REQUIRE(module::unload() == succeeds());
            CHECK_NOTHROW(traced.by_live_patch());
        }
    }

    const Event event(unique_name("traced_forks"));
    {
        Word word{0};
        DataFile file;
        file.must_register(&word, 0, event.name());
        for (int round = 0; round < 3; round++) {
            REQUIRE(event.enable() == succeeds(1));
            Forked child(word, file);
            CHECK(child.word() == 1);
            REQUIRE(event.disable() == succeeds(1));
            CHECK(eventually([&] { return child.word() == 0; }));
            CHECK(child.end() == 0);
        }
        CHECK(file.unregister(&word, 0) == succeeds());
    }
    CHECK(event.wait_removed());
    CHECK(traced.all_seen());
}

TEST_CASE("The bits of parent and child are up to date when the write to enable returns") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("at_once"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    for (int round = 0; round < 10; round++) {
        CAPTURE(round);
        Forked child(word, file);
        // The child has started and waits for requests.
        REQUIRE(child.word() == 0);
        {
            Enabled enabled{event};
            CHECK(word == 1);
            CHECK(child.word() == 1);
        }
        CHECK(word == 0);
        CHECK(child.word() == 0);
        CHECK(child.end() == 0);
    }
}

TEST_CASE("UNREG in the parent or in the child does not affect the other") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("for_itself"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    SECTION("the child unregisters") {
        Forked child(word, file);
        CHECK(child.unregister() == 0);
        CHECK(child.unregister() == ENOENT);
        Enabled enabled{event};
        CHECK(eventually([&] { return word == 1; }));
        CHECK(child.word() == 0);
        CHECK(child.end() == 0);
        CHECK(file.unregister(&word, 0) == succeeds());
    }
    SECTION("the parent unregisters") {
        Forked child(word, file);
        CHECK(file.unregister(&word, 0) == succeeds());
        Enabled enabled{event};
        CHECK(eventually([&] { return child.word() == 1; }));
        CHECK(word == 0);
        CHECK(child.unregister() == 0);
        CHECK(child.word() == 0);
        CHECK(child.end() == 0);
    }
}

TEST_CASE("REG of an inherited bit fails with EADDRINUSE until the child unregisters it") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("taken"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Forked child(word, file, event.name());
    CHECK(child.register_again() == EADDRINUSE);
    REQUIRE(file.unregister(&word, 0) == succeeds());
    CHECK(child.register_again() == EADDRINUSE);
    CHECK(child.unregister() == 0);
    CHECK(child.register_again() == 0);
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    {
        const Enabled enabled{event};
        CHECK(word == 1);
        CHECK(child.word() == 1);
        CHECK(child.unregister() == 0);
        CHECK(child.word() == 0);
        CHECK(word == 1);
    }
    CHECK(child.end() == 0);
}

TEST_CASE("In a child, a bit in MADV_WIPEONFORK memory follows the event from the next change") {
    Mapping memory(1);
    Word& word = *memory.at<Word>();
    DataFile file;
    const Event event(unique_name("not_copied"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    REQUIRE(madvise(memory.at(), page_size, MADV_WIPEONFORK) == 0);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(word == 1);
    Forked child(word, file);
    // The value is not checked, because the parent asked for wiped memory.
    child.word();
    REQUIRE(event.disable() == succeeds(1));
    CHECK(child.word() == 0);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(child.word() == 1);
    CHECK(child.unregister() == 0);
    CHECK(child.word() == 0);
    CHECK(word == 1);
    CHECK(child.end() == 0);
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE("Updates skip MADV_DONTFORK memory unless the child maps other memory there") {
    Mapping memory(1);
    DataFile file;
    Word other{0};
    const Event event(unique_name("not_there"));
    REQUIRE(file.register_event(memory.at(), 0, event.name()) == succeeds());
    REQUIRE(file.register_event(&other, 0, event.name()) == succeeds());
    REQUIRE(madvise(memory.at(), page_size, MADV_DONTFORK) == 0);
    const bool mapped_anew = GENERATE(false, true);
    CAPTURE(mapped_anew);
    Child child([&](Channel& channel) {
        if (mapped_anew &&
            mmap(memory.at(), page_size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != memory.at())
            throw_errno("mmap");
        channel.send('r');
        while (channel.receive<char>() == '?')
            channel.send(other == 1 && (!mapped_anew || *memory.at<Word>() == 1));
        channel.send(file.unregister(memory.at(), 0).error());
        channel.send(file.unregister(memory.at(), 0).error());
        return 0;
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    const Enabled enabled{event};
    CHECK(*memory.at<Word>() == 1);
    CHECK(child.channel().ask<bool>('?'));
    child.channel().send('g');
    CHECK(child.channel().receive<int>() == (mapped_anew ? 0 : EFAULT));
    CHECK(child.channel().receive<int>() == ENOENT);
    CHECK(child.wait() == 0);
}

TEST_CASE("A child killed right after fork leaves nothing behind") {
    const unsigned rounds = fewer_if_debug(100, 30);
    Word word{0};
    DataFile file;
    const Event event(unique_name("killed"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto& started_children = *shared.at<std::atomic<unsigned>>();
    unsigned reaped = 0, disturbed = 0;
    for (unsigned round = 0; round < rounds; round++) {
        // Kill every second child before its first instruction.
        std::optional<RealTimePriority> undisturbed;
        if (round % 2)
            undisturbed.emplace();
        const pid_t pid = fork();
        if (pid == 0) {
            started_children++;
            _exit(0);
        }
        kill(pid, SIGKILL);
        disturbed += undisturbed && !undisturbed->not_throttled();
        undisturbed.reset();
        reaped += waitpid(pid, nullptr, 0) == pid;
    }
    CHECK(reaped == rounds);
    CHECK(started_children <= rounds / 2 + disturbed);
    CHECK(disturbed < rounds / 2);
    unshare_page(word);
    {
        const Enabled enabled{event};
        CHECK(word == 1);
    }
    REQUIRE(file.unregister(&word, 0) == succeeds());
    file.close();
    CHECK(event.wait_removed());
}

TEST_CASE("A child signalled before its first instruction inherits its parent's registrations") {
    static std::atomic<bool> signalled;
    signalled = false;
    struct sigaction before;
    struct sigaction action = {};
    action.sa_handler = [](int) { signalled = true; };
    REQUIRE(sigaction(SIGUSR1, &action, &before) == 0);
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, unique_name("signalled")) == succeeds());
    user_unreg unreg = unregistration(&word, 0);
    int status = -1;
    bool signalled_first = false;
    while (!signalled_first) {
        std::optional<RealTimePriority> undisturbed(std::in_place);
        const pid_t pid = fork();
        if (pid == 0)
            _exit(signalled ? file.control(DIAG_IOCSUNREG, &unreg).error() : 255);
        kill(pid, SIGUSR1);
        signalled_first = undisturbed->not_throttled();
        undisturbed.reset();
        REQUIRE(waitpid(pid, &status, 0) == pid);
    }
    CHECK(status == 0);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("Children inherit consistent registrations while threads register and the event changes",
          "[long]") {
    constexpr unsigned threads = 3;
    const unsigned rounds = fewer_if_debug(50, 20);
    const Event event(unique_name("threads"));
    // One page per word, so that the threads share no page faults.
    Mapping memory(threads + 1);
    const auto word = [&](unsigned i) -> Word& { return *memory.at<Word>(i * page_size); };
    DataFile file;
    REQUIRE(file.register_event(&word(threads), 0, event.name()) == succeeds());
    std::atomic<bool> stop{false};
    std::atomic<unsigned> registered{0}, refused{0}, changes{0}, wrong{0};
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < threads; i++)
        running.emplace_back([&, i] {
            DataFile own;
            while (!stop) {
                refused += !own.register_event(&word(i), i, event.name()).ok();
                registered++;
                refused += !own.unregister(&word(i), i).ok() || word(i) != 0;
            }
        });
    const auto change = [&](Outcome (Event::*to)() const, std::uint32_t expected) {
        (event.*to)();
        wrong += word(threads) != expected;
        changes++;
    };
    running.emplace_back([&] {
        while (!stop) {
            change(&Event::enable, 1);
            change(&Event::disable, 0);
        }
    });

    struct Seen {
        unsigned inherited = 0, not_inherited = 0, wrong = 0;
    } seen;
    unsigned changed_during_round = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned before = changes;
        Child child([&](Channel& channel) -> int {
            Seen result;
            DataFile own;
            for (unsigned i = 0; i < threads; i++) {
                const bool was_set = word(i) != 0;
                const Outcome outcome = own.unregister(&word(i), i);
                result.inherited += outcome == succeeds();
                result.not_inherited += outcome == fails(ENOENT);
                // Without a registration, nothing would clear the bit.
                result.wrong += outcome == fails(ENOENT) && was_set;
                // In both cases, the bit is clear now and can be registered.
                result.wrong += outcome.ok() && word(i) != 0;
                result.wrong += !own.register_event(&word(i), i, event.name()).ok();
            }
            result.wrong += !own.unregister(&word(threads), 0).ok() || word(threads) != 0;
            channel.send(result);
            _exit(0);
        });
        const Seen result = child.channel().receive<Seen>();
        seen.inherited += result.inherited;
        seen.not_inherited += result.not_inherited;
        seen.wrong += result.wrong;
        REQUIRE(child.wait() == 0);
        changed_during_round += changes != before;
    }
    stop = true;
    running.clear();
    CHECK(refused == 0);
    CHECK(wrong == 0);
    CHECK(seen.wrong == 0);
    CHECK(seen.inherited + seen.not_inherited == rounds * threads);
    // Forks happened between REG and UNREG and outside, and changes while a child existed.
    CHECK(seen.inherited > 0);
    CHECK(seen.not_inherited > 0);
    CHECK(changed_during_round > 0);
    CHECK(registered > rounds);
}

TEST_CASE("A child starts with the correct bit even if the event changes during the fork") {
    const unsigned rounds = fewer_if_debug(150, 40);
    Word word{0};
    DataFile file;
    const Event event(unique_name("during_fork"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    struct Counts {
        std::atomic<bool> stop;
        /// Odd during a change. Half of it is the number of completed changes.
        std::atomic<unsigned> steps;
        std::atomic<unsigned> started_set, started_clear, wrong;
    };
    auto& counts = *shared.at<Counts>();
    std::jthread changing([&] {
        while (!counts.stop) {
            const auto start = std::chrono::steady_clock::now();
            counts.steps++;
            if (counts.steps / 2 % 2 == 0)
                event.enable();
            else
                event.disable();
            counts.steps++;
            // As long as the change took, so that children also start between changes.
            std::this_thread::sleep_for(std::chrono::steady_clock::now() - start);
        }
        event.disable();
    });
    unsigned during_a_change = 0, reaped = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned before = counts.steps;
        const pid_t pid = fork();
        if (pid == 0) {
            // Without a change before or during the read, the bit must match the state.
            const unsigned first = counts.steps;
            const std::uint32_t value = word;
            const unsigned second = counts.steps;
            if (first == second && first % 2 == 0) {
                const bool enabled = first / 2 % 2 == 1;
                counts.wrong += value != enabled;
                (enabled ? counts.started_set : counts.started_clear)++;
            }
            _exit(0);
        }
        during_a_change += counts.steps != before || before % 2 == 1;
        reaped += waitpid(pid, nullptr, 0) == pid;
    }
    counts.stop = true;
    changing.join();
    CHECK(reaped == rounds);
    CHECK(counts.wrong == 0);
    CHECK(counts.started_set > 0);
    CHECK(counts.started_clear > 0);
    CHECK(during_a_change > 0);
}

TEST_CASE("A child forked during REG inherits neither the registration nor the bit") {
    const Event event(unique_name("during_reg"));
    Mapping memory(1);
    Word first{0}, &word = *memory.at<Word>();
    DataFile file;
    REQUIRE(file.register_event(&first, 0, event.name()) == succeeds());
    const Enabled enabled{event};
    Userfault fault(memory);
    Outcome registered = fails(EAGAIN);
    std::jthread registering([&] { registered = file.register_event(&word, 0, event.name()); });
    // REG waits before it writes the bit. The userfaultfd does not cover the child.
    REQUIRE(eventually([&] { return fault.has_waiter(); }));
    Forked child(word, file);
    CHECK(child.word() == 0);
    CHECK(child.unregister() == ENOENT);
    CHECK(child.end() == 0);
    CHECK(fault.has_waiter());
    fault.answer();
    registering.join();
    CHECK(registered == succeeds());
    CHECK(word == 1);
}

TEST_CASE("A child forked during UNREG inherits the registration and the bit") {
    const Event event(unique_name("during_unreg"));
    Mapping memory(1);
    Word& word = *memory.at<Word>();
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    const Enabled enabled{event};
    REQUIRE(word == 1);
    Userfault fault(memory, Userfault::Kind::write_protect);
    Outcome unregistered = fails(EAGAIN);
    std::jthread unregistering([&] { unregistered = file.unregister(&word, 0); });
    REQUIRE(eventually([&] { return fault.has_waiter(); }));
    Forked child(word, file);
    CHECK(child.word() == 1);
    CHECK(child.unregister() == 0);
    CHECK(child.word() == 0);
    CHECK(child.end() == 0);
    CHECK(fault.has_waiter());
    fault.answer();
    unregistering.join();
    CHECK(unregistered == succeeds());
    CHECK(word == 0);
}

TEST_CASE("A child forked during a REG that fails inherits no registration") {
    const Event event(unique_name("fails"));
    Mapping memory(1);
    Word first{0}, &word = *memory.at<Word>();
    DataFile file;
    REQUIRE(file.register_event(&first, 0, event.name()) == succeeds());
    Userfault fault(memory);
    Outcome registered = fails(EAGAIN);
    std::jthread registering([&] { registered = file.register_event(&word, 0, event.name()); });
    REQUIRE(eventually([&] { return fault.has_waiter(); }));
    Forked child(word, file);
    REQUIRE(child.word() == 0);
    memory.unmap();
    fault.wake();
    registering.join();
    CHECK(registered == fails(EFAULT));
    CHECK(child.unregister() == ENOENT);
    CHECK(child.end() == 0);
}

TEST_CASE("A child inherits registrations and bits as they were when its memory was copied") {
    Word word{0}, late{0};
    DataFile file;
    const Event event(unique_name("moment"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    const Enabled enabled{event};
    StoppedFork fork(word, file);
    SECTION("the parent unregisters after the copy") {
        CHECK(file.unregister(&word, 0) == succeeds());
        CHECK(word == 0);
    }
    SECTION("the parent registers another bit after the copy") {
        CHECK(file.register_event(&late, 0, event.name()) == succeeds());
        CHECK(late == 1);
    }
    SECTION("the parent unregisters and registers again after the copy") {
        CHECK(file.unregister(&word, 0) == succeeds());
        CHECK(file.register_event(&word, 0, event.name()) == succeeds());
    }
    const auto& seen = fork.finish();
    CHECK(seen.forked == succeeds());
    CHECK(seen.word == 1);
    CHECK(seen.unregistered == succeeds());
    CHECK(seen.unregistered_again == fails(ENOENT));
    CHECK(seen.word_at_exit == 0);
}

TEST_CASE("A child inherits no registration made after its memory was copied") {
    const auto register_during_fork = [] {
        Word word{0};
        DataFile file;
        const Event event(unique_name("nothing"));
        StoppedFork fork(word, file);
        int wrong = file.register_event(&word, 0, event.name()) != succeeds();
        const Enabled enabled{event};
        wrong += word != 1;
        const auto& seen = fork.finish();
        return wrong + (seen.word != 0) + (seen.unregistered != fails(ENOENT));
    };
    SECTION("the parent had never registered before") {
        CHECK(in_child(register_during_fork) == 0);
    }
    SECTION("the parent had registered and unregistered before") {
        Word word{0};
        DataFile file;
        REQUIRE(file.register_event(&word, 0, unique_name("before")) == succeeds());
        REQUIRE(file.unregister(&word, 0) == succeeds());
        CHECK(register_during_fork() == 0);
    }
}

TEST_CASE("A child inherits registrations even if its parent's stack page is not copied") {
    const int advice = GENERATE(MADV_WIPEONFORK, MADV_DONTFORK);
    CAPTURE(advice);
    const Event event(unique_name("stack"));
    CHECK(in_child([&] {
              // Frames of this thread may be in that page. So what the child uses is not.
              const Mapping memory(1);
              Word& word = *memory.at<Word>();
              const auto file = std::make_unique<DataFile>();
              int wrong = file->register_event(&word, 0, event.name()) != succeeds();
              wrong += event.enable() != succeeds(1);
              wrong += madvise(stack_page(), page_size, advice) != 0;
              const auto fork = std::make_unique<StoppedFork>(word, *file);
              unshare_page(word);
              wrong += event.disable() != succeeds(1) || word != 0;
              const auto& seen = fork->finish();
              return wrong + (seen.word != 0) + (seen.unregistered != succeeds()) +
                     (seen.unregistered_again != fails(ENOENT));
          }) == 0);
}

TEST_CASE("A child's bit reflects a change made between the copy of its memory and its start") {
    const bool unregistered = GENERATE(false, true);
    CAPTURE(unregistered);
    Word word{0};
    DataFile file;
    const Event event(unique_name("change"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    StoppedFork fork(word, file);
    unshare_page(word);
    if (unregistered)
        CHECK(file.unregister(&word, 0) == succeeds());
    const Enabled enabled{event};
    const auto& seen = fork.finish();
    CHECK(seen.word == 1);
    CHECK(seen.unregistered == succeeds());
    CHECK(word == !unregistered);
}

TEST_CASE("A fork that fails after the memory was copied does not keep the event in use") {
    Word word{0};
    DataFile file, other;
    const Event event(unique_name("fails_late"));
    REQUIRE(file.register_event(&word, 0, event.name(), 4, USER_EVENT_REG_PERSIST) == succeeds());
    file.close();
    const auto failing_fork = [&] {
        // The requested pid is in use.
        return std::make_unique<StoppedFork>(word, other, getpid());
    };
    SECTION("the parent unregisters during the fork") {
        const auto fork = failing_fork();
        CHECK(other.unregister(&word, 0) == succeeds());
        CHECK(fork->finish().forked == fails(EEXIST));
    }
    SECTION("the parent unregisters after the fork has failed") {
        CHECK(failing_fork()->finish().forked == fails(EEXIST));
        CHECK(other.unregister(&word, 0) == succeeds());
    }
    SECTION("20 forks fail before the parent unregisters") {
        for (int i = 0; i < 20; i++)
            CHECK(failing_fork()->finish().forked == fails(EEXIST));
        CHECK(StoppedFork(word, other).finish().unregistered == succeeds());
        CHECK(other.unregister(&word, 0) == succeeds());
    }
    CHECK(eventually([&] { return other.delete_event(event.name()).ok(); }));
}

TEST_CASE("A child inherits no registration that ended after an earlier fork had failed") {
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, unique_name("stale")) == succeeds());
    const Mapping memory(1);
    Userfault fault(memory);
    Outcome failed = succeeds();
    int status = 0;
    std::thread forking([&] {
        user_unreg unreg = unregistration(&word, 0);
        pid_t in_use = getpid();
        clone_args arguments{};
        arguments.set_tid = address_of(&in_use);
        arguments.set_tid_size = 1;
        failed = Outcome::of(syscall(SYS_clone3, &arguments, sizeof(arguments)));
        // The system call waits for the page with its arguments, which are then all zero.
        const auto pid = static_cast<pid_t>(syscall(SYS_clone3, memory.at(), sizeof(arguments)));
        if (pid == 0)
            _exit(file.control(DIAG_IOCSUNREG, &unreg).error());
        waitpid(pid, &status, __WALL);
    });
    CHECK(eventually([&] { return fault.has_waiter(); }));
    CHECK(file.unregister(&word, 0) == succeeds());
    fault.answer();
    forking.join();
    CHECK(failed == fails(EEXIST));
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == ENOENT);
}

TEST_CASE("A registration that the parent makes after a fork does not affect the child") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("after"));
    Forked child(word, file);
    REQUIRE(child.word() == 0);
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    CHECK(child.unregister() == ENOENT);
    Enabled enabled{event};
    CHECK(eventually([&] { return word == 1; }));
    CHECK(child.word() == 0);
    CHECK(child.end() == 0);
}

TEST_CASE("An inherited registration keeps the event in use") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("held"));
    REQUIRE(file.register_event(&word, 0, event.name(), 4, USER_EVENT_REG_PERSIST) == succeeds());
    file.close();
    DataFile other;
    Forked child(word, other);
    REQUIRE(child.word() == 0);
    REQUIRE(other.unregister(&word, 0) == succeeds());
    CHECK(other.delete_event(event.name()) == fails(EBUSY));
    CHECK(child.end() == 0);
    CHECK(eventually([&] { return other.delete_event(event.name()).ok(); }));
}

TEST_CASE("The bits of a child and of a grandchild follow the event") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("generations"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Child child([&](Channel& channel) -> int {
        Child grandchild([&](Channel& to_parent) -> int {
            to_parent.send('r');
            const bool set = eventually([&] { return word == 1; });
            to_parent.send(set);
            _exit(0);
        });
        grandchild.channel().receive<char>();
        channel.send('r');
        const bool set = grandchild.channel().receive<bool>();
        channel.send(set && eventually([&] { return word == 1; }));
        _exit(grandchild.wait());
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    Enabled enabled{event};
    CHECK(child.channel().receive<bool>());
    CHECK(child.wait() == 0);
}

TEST_CASE("A CLONE_VM child shares its parent's registrations") {
    Mapping stack(16);
    struct Shared {
        Word words[2] = {0, 0};
        std::string command = unique_name("one_set");
        int unregistered = -1, registered = -1;
        DataFile file;
    } shared;
    REQUIRE(shared.file.register_event(&shared.words[0], 0, shared.command) == succeeds());
    const auto body = [](void* argument) {
        auto& shared = *static_cast<Shared*>(argument);
        shared.unregistered = shared.file.unregister(&shared.words[0], 0).error();
        shared.registered = shared.file.register_event(&shared.words[1], 0, shared.command).error();
        return 0;
    };
    const pid_t pid = clone(body, stack.at(stack.size()), CLONE_VM | SIGCHLD, &shared);
    REQUIRE(pid > 0);
    REQUIRE(waitpid(pid, nullptr, 0) == pid);
    CHECK(shared.unregistered == 0);
    CHECK(shared.registered == 0);
    CHECK(shared.file.unregister(&shared.words[0], 0) == fails(ENOENT));
    Enabled enabled{Event(shared.command)};
    CHECK(shared.words[1] == 1);
    CHECK(shared.file.unregister(&shared.words[1], 0) == succeeds());
}

TEST_CASE("A CLONE_VM child keeps the registrations after its parent has exited") {
    Word word{0};
    Mapping stack(16);
    const Event event(unique_name("outlives"));
    Child parent([&](Channel& channel) -> int {
        struct Shared {
            Channel& channel;
            Word& word;
        } shared{channel, word};
        DataFile file;
        file.must_register(&word, 0, event.name());
        file.close();
        const auto body = [](void* argument) {
            auto& shared = *static_cast<Shared*>(argument);
            while (shared.channel.receive<char>() == '?')
                shared.channel.send(shared.word.load());
            syscall(SYS_exit_group, 0);
            return 0;
        };
        if (clone(body, stack.at(stack.size()), CLONE_VM, &shared) < 0)
            throw_errno("clone");
        _exit(0);
    });
    REQUIRE(parent.wait() == 0);
    {
        const Enabled enabled{event};
        CHECK(parent.channel().ask<std::uint32_t>('?') == 1);
    }
    CHECK(parent.channel().ask<std::uint32_t>('?') == 0);
    CHECK(event.exists());
    parent.channel().send('e');
    CHECK(event.wait_removed());
}

TEST_CASE("A thread keeps the registrations after the main thread has exited") {
    Word word{0};
    const Event event(unique_name("thread"));
    Child child([&](Channel& channel) -> int {
        DataFile file;
        file.must_register(&word, 0, event.name());
        file.close();
        std::thread([&] {
            while (channel.receive<char>() == '?')
                channel.send(word.load());
            _exit(0);
        }).detach();
        syscall(SYS_exit, 0);
        return 1;
    });
    const std::string stat = "/proc/" + std::to_string(child.pid()) + "/stat";
    REQUIRE(eventually([&] { return read_text(stat).find(") Z ") != std::string::npos; }));
    {
        const Enabled enabled{event};
        CHECK(child.channel().ask<std::uint32_t>('?') == 1);
    }
    CHECK(child.channel().ask<std::uint32_t>('?') == 0);
    CHECK(event.exists());
    child.channel().send('e');
    CHECK(child.wait() == 0);
    CHECK(event.wait_removed());
}

TEST_CASE("The exit of a vfork child does not affect its parent's registrations") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("vfork"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    const pid_t pid = vfork(); // NOLINT(clang-analyzer-security.insecureAPI.vfork)
    if (pid == 0)
        _exit(0);
    REQUIRE(waitpid(pid, nullptr, 0) == pid);
    const Enabled enabled{event};
    CHECK(word == 1);
    CHECK(file.unregister(&word, 0) == succeeds());
}

// Among them are locks of files that other programs have mapped.
TEST_CASE("Neither REG nor fork nor exec takes the locks of all mappings") {
    const Event event(unique_name("locks")), locking(unique_name("lock"), "selftests");
    const Definition probe("kprobe_events", "p:selftests/" + locking.name() + " mm_take_all_locks",
                           "-:selftests/" + locking.name());
    Instance instance;
    REQUIRE(instance.enable(locking) == succeeds());
    Word word{0};
    // A new process, because the kernel would take the locks once for each address space.
    CHECK(in_child([&] {
              DataFile file;
              int wrong = file.register_event(&word, 0, event.name()) != succeeds();
              wrong += in_child([&] {
                  const int error = file.unregister(&word, 0).error();
                  return error + file.register_event(&word, 0, event.name()).error();
              });
              if (wrong == 0)
                  execl("/bin/true", "true", nullptr);
              return 1;
          }) == 0);
    REQUIRE(instance.disable(locking) == succeeds());
    CHECK(instance.trace(locking).empty());
}
