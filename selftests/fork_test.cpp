// SPDX-License-Identifier: GPL-2.0-only
// fork: the child has its parent's registrations, as they were then, for its own memory.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "undisturbed.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <catch2/catch.hpp>

#include <csignal>
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

/// A child that answers for its copy of a word, and registers and unregisters bit 0 of that when
/// asked to.
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
                      // No destructors: what is left is the kernel's to clean up.
                      _exit(0);
                  }
              return 1;
          }) {}

    std::uint32_t word() { return ask<std::uint32_t>(Request::read); }
    int unregister() { return ask<int>(Request::unregister); }
    int register_again() { return ask<int>(Request::register_again); }
    int end() {
        child_.channel().send(Request::end);
        return child_.wait();
    }

private:
    template <typename T>
    T ask(Request request) {
        child_.channel().send(request);
        return child_.channel().receive<T>();
    }

    Child child_;
};

/// A fork by a thread of its own, which stops where the memory has been copied and the child is
/// still to come. That reads its copy of a word, and unregisters bit 0 of it twice. No lock of the
/// C library's is held meanwhile, and the child needs none.
class StoppedFork {
public:
    struct Seen {
        Outcome forked = fails(EAGAIN);
        std::uint32_t word = 0, word_at_last = 0;
        Outcome unregistered = fails(EAGAIN), unregistered_again = fails(EAGAIN);
    };

    /// The child is to have the number `pid`, if that is not 0.
    StoppedFork(Word& word, DataFile& file, pid_t pid = 0)
        : thread_([this, &word, &file, pid] { fork(word, file, pid); }) {
        if (!eventually([&] { return stop_.is_waited_for(); }))
            throw std::runtime_error("the fork does not stop");
    }

    /// Lets it go on, and waits for the child's end.
    const Seen& go_on() {
        stop_.go_on();
        thread_.join();
        return seen_;
    }

private:
    void fork(Word& word, DataFile& file, pid_t wanted) {
        user_unreg unreg = unregistration(&word, 0);
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        if (wanted != 0) {
            arguments.set_tid = address_of(&wanted);
            arguments.set_tid_size = 1;
        }
        const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
        if (pid == 0) {
            seen_.word = word;
            seen_.unregistered = file.control(DIAG_IOCSUNREG, &unreg);
            seen_.unregistered_again = file.control(DIAG_IOCSUNREG, &unreg);
            seen_.word_at_last = word;
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

/// The page on which this process' stack began, as the kernel knows it.
void* stack_page() {
    // The 28th of the numbers; those before it have no spaces, but for the second.
    const std::string stat = read_text("/proc/self/stat");
    std::istringstream words(stat.substr(stat.rfind(')') + 2));
    std::string word;
    for (int i = 3; i <= 28; i++)
        words >> word;
    return reinterpret_cast<void*>(std::stoul(word) / page_size * page_size);
}

} // namespace

TEST_CASE("A child has its parent's registrations for its own memory") {
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

TEST_CASE("A child of a parent whose event is enabled follows as well") {
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

TEST_CASE("The bits of parent and child are set when the write to enable returns") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("at_once"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    for (int round = 0; round < 10; round++) {
        CAPTURE(round);
        Forked child(word, file);
        // So that it waits for requests, and is not in the middle of something.
        REQUIRE(child.word() == 0);
        {
            Enabled enabled{event};
            CHECK(at_once([&] { return word == 1; }));
            CHECK(at_once([&] { return child.word() == 1; }));
        }
        CHECK(at_once([&] { return word == 0; }));
        CHECK(at_once([&] { return child.word() == 0; }));
        CHECK(child.end() == 0);
    }
}

TEST_CASE("Parent and child unregister for themselves") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("for_itself"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    SECTION("the child") {
        Forked child(word, file);
        CHECK(child.unregister() == 0);
        CHECK(child.unregister() == ENOENT);
        Enabled enabled{event};
        CHECK(eventually([&] { return word == 1; }));
        CHECK(child.word() == 0);
        CHECK(child.end() == 0);
        CHECK(file.unregister(&word, 0) == succeeds());
    }
    SECTION("the parent") {
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

TEST_CASE("What a child has inherited is taken in it, until it unregisters that") {
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

TEST_CASE("Memory that a child gets wiped follows from the next change on") {
    Mapping memory(1);
    Word& word = *memory.at<Word>();
    DataFile file;
    const Event event(unique_name("not_copied"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    REQUIRE(madvise(memory.at(), page_size, MADV_WIPEONFORK) == 0);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(word == 1);
    Forked child(word, file);
    // The parent has asked for that.
    child.word();
    REQUIRE(event.disable() == succeeds(1));
    CHECK(at_once([&] { return child.word() == 0; }));
    REQUIRE(event.enable() == succeeds(1));
    CHECK(at_once([&] { return child.word() == 1; }));
    CHECK(child.unregister() == 0);
    CHECK(child.word() == 0);
    CHECK(word == 1);
    CHECK(child.end() == 0);
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE("Memory that a child does not get is passed over") {
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
    CHECK(at_once([&] {
        child.channel().send('?');
        return child.channel().receive<bool>();
    }));
    child.channel().send('g');
    CHECK(child.channel().receive<int>() == (mapped_anew ? 0 : EFAULT));
    CHECK(child.channel().receive<int>() == ENOENT);
    CHECK(child.wait() == 0);
}

TEST_CASE("A child that is killed or ends before it has run leaves nothing behind") {
    const unsigned rounds = fewer(100, 30);
    Word word{0};
    DataFile file;
    const Event event(unique_name("at_birth"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    auto& have_run = *shared.at<std::atomic<unsigned>>();
    unsigned reaped = 0, disturbed = 0;
    for (unsigned round = 0; round < rounds; round++) {
        // Every second one before its first instruction.
        std::optional<Undisturbed> undisturbed;
        if (round % 2)
            undisturbed.emplace();
        const pid_t pid = fork();
        if (pid == 0) {
            have_run++;
            _exit(0);
        }
        kill(pid, SIGKILL);
        disturbed += undisturbed && !undisturbed->lasts();
        undisturbed.reset();
        reaped += waitpid(pid, nullptr, 0) == pid;
    }
    CHECK(reaped == rounds);
    CHECK(have_run <= rounds / 2 + disturbed);
    CHECK(disturbed < rounds / 2);
    own_page(word);
    {
        const Enabled enabled{event};
        CHECK(word == 1);
    }
    REQUIRE(file.unregister(&word, 0) == succeeds());
    file.close();
    CHECK(event.goes());
}

TEST_CASE("A child that is sent a signal before it has run has its parent's registrations") {
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
    bool undisturbed_so_far = false;
    while (!undisturbed_so_far) {
        std::optional<Undisturbed> undisturbed(std::in_place);
        const pid_t pid = fork();
        if (pid == 0)
            _exit(signalled ? file.control(DIAG_IOCSUNREG, &unreg).error() : 255);
        kill(pid, SIGUSR1);
        undisturbed_so_far = undisturbed->lasts();
        undisturbed.reset();
        REQUIRE(waitpid(pid, &status, 0) == pid);
    }
    CHECK(status == 0);
    sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("Children have what their parent had, while its threads register and the event changes") {
    constexpr unsigned threads = 3;
    const unsigned rounds = fewer(50, 20);
    const Event event(unique_name("threads"));
    // A page each, so that faults of one are none of another's.
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
    // The forks hinder changes, and on a slow machine for longer than is waited for.
    const auto change = [&](Outcome (Event::*to)() const, std::uint32_t expected) {
        (event.*to)();
        wrong += !at_once([&] { return word(threads) == expected; });
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
    unsigned changed_meanwhile = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned before = changes;
        Child child([&](Channel& channel) -> int {
            Seen mine;
            DataFile own;
            for (unsigned i = 0; i < threads; i++) {
                const bool was_set = word(i) != 0;
                const Outcome outcome = own.unregister(&word(i), i);
                mine.inherited += outcome == succeeds();
                mine.not_inherited += outcome == fails(ENOENT);
                // A bit without a registration would stay set for ever.
                mine.wrong += outcome == fails(ENOENT) && was_set;
                // Whichever it was, the pair is free now, and the bit clear.
                mine.wrong += outcome.ok() && word(i) != 0;
                mine.wrong += !own.register_event(&word(i), i, event.name()).ok();
            }
            mine.wrong += !own.unregister(&word(threads), 0).ok() || word(threads) != 0;
            channel.send(mine);
            _exit(0);
        });
        const Seen its = child.channel().receive<Seen>();
        seen.inherited += its.inherited;
        seen.not_inherited += its.not_inherited;
        seen.wrong += its.wrong;
        REQUIRE(child.wait() == 0);
        changed_meanwhile += changes != before;
    }
    stop = true;
    running.clear();
    CHECK(refused == 0);
    CHECK(wrong == 0);
    CHECK(seen.wrong == 0);
    CHECK(seen.inherited + seen.not_inherited == rounds * threads);
    // Forks came between REG and UNREG and outside of them, and changes while children were there.
    CHECK(seen.inherited > 0);
    CHECK(seen.not_inherited > 0);
    CHECK(changed_meanwhile > 0);
    CHECK(registered > rounds);
}

TEST_CASE("The bits of a child are right at once, however the event changes while it is made") {
    const unsigned rounds = fewer(150, 40);
    Word word{0};
    DataFile file;
    const Event event(unique_name("while_made"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    struct Counts {
        std::atomic<bool> stop;
        /// Odd while a change is under way; half of it is the number of changes.
        std::atomic<unsigned> steps;
        std::atomic<unsigned> born_set, born_clear, wrong, undecided;
        /// A change was not waited for: bits may come later than it.
        std::atomic<bool> late;
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
            counts.late = bits_may_be_late();
            counts.steps++;
            // As long as the change took: on a slow machine, too, children come in between.
            std::this_thread::sleep_for(std::chrono::steady_clock::now() - start);
        }
        event.disable();
    });
    unsigned during_a_change = 0, reaped = 0;
    for (unsigned round = 0; round < rounds; round++) {
        const unsigned before = counts.steps;
        const pid_t pid = fork();
        if (pid == 0) {
            // Where no change is under way, the bit is the state; it is one before and after.
            const unsigned first = counts.steps;
            const std::uint32_t value = word;
            const unsigned second = counts.steps;
            if (first == second && first % 2 == 0) {
                const bool enabled = first / 2 % 2 == 1;
                const auto comes_right = [&] {
                    return eventually([&] { return word == enabled || counts.steps != first; });
                };
                if (value != enabled) {
                    counts.wrong += !(counts.late && comes_right());
                    counts.undecided++;
                }
                (enabled ? counts.born_set : counts.born_clear)++;
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
    // Some others may have come right as the next change came.
    CHECK(counts.undecided < rounds / 4);
    CHECK(counts.born_set > 0);
    CHECK(counts.born_clear > 0);
    CHECK(during_a_change > 0);
}

TEST_CASE("A child made during a registration has not that, nor its bit") {
    const Event event(unique_name("under_way"));
    Mapping memory(1);
    Word first{0}, &word = *memory.at<Word>();
    DataFile file;
    REQUIRE(file.register_event(&first, 0, event.name()) == succeeds());
    const Enabled enabled{event};
    Userfault fault(memory);
    Outcome registered = fails(EAGAIN);
    std::jthread registering([&] { registered = file.register_event(&word, 0, event.name()); });
    // The bit has not been written yet, and the child's page is nobody's to answer for.
    REQUIRE(eventually([&] { return fault.is_waited_for(); }));
    Forked child(word, file);
    CHECK(child.word() == 0);
    CHECK(child.unregister() == ENOENT);
    CHECK(child.end() == 0);
    CHECK(fault.is_waited_for());
    fault.answer();
    registering.join();
    CHECK(registered == succeeds());
    CHECK(word == 1);
}

TEST_CASE("A child made while its parent unregisters has the bit's registration") {
    const Event event(unique_name("ending"));
    Mapping memory(1);
    Word& word = *memory.at<Word>();
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    const Enabled enabled{event};
    REQUIRE(word == 1);
    Userfault fault(memory, Userfault::Of::writing);
    Outcome unregistered = fails(EAGAIN);
    std::jthread unregistering([&] { unregistered = file.unregister(&word, 0); });
    REQUIRE(eventually([&] { return fault.is_waited_for(); }));
    Forked child(word, file);
    CHECK(child.word() == 1);
    CHECK(child.unregister() == 0);
    CHECK(child.word() == 0);
    CHECK(child.end() == 0);
    CHECK(fault.is_waited_for());
    fault.answer();
    unregistering.join();
    CHECK(unregistered == succeeds());
    CHECK(word == 0);
}

TEST_CASE("A registration that fails leaves nothing in a child made meanwhile") {
    const Event event(unique_name("fails"));
    Mapping memory(1);
    Word first{0}, &word = *memory.at<Word>();
    DataFile file;
    REQUIRE(file.register_event(&first, 0, event.name()) == succeeds());
    Userfault fault(memory);
    Outcome registered = fails(EAGAIN);
    std::jthread registering([&] { registered = file.register_event(&word, 0, event.name()); });
    REQUIRE(eventually([&] { return fault.is_waited_for(); }));
    Forked child(word, file);
    REQUIRE(child.word() == 0);
    memory.unmap();
    fault.wake();
    registering.join();
    CHECK(registered == fails(EFAULT));
    CHECK(child.unregister() == ENOENT);
    CHECK(child.end() == 0);
}

TEST_CASE("A child has the registrations and bits of when its memory was copied") {
    Word word{0}, late{0};
    DataFile file;
    const Event event(unique_name("moment"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    const Enabled enabled{event};
    StoppedFork fork(word, file);
    SECTION("unregistered since") {
        CHECK(file.unregister(&word, 0) == succeeds());
        CHECK(word == 0);
    }
    SECTION("registered since") {
        CHECK(file.register_event(&late, 0, event.name()) == succeeds());
        CHECK(late == 1);
    }
    SECTION("both, and again") {
        CHECK(file.unregister(&word, 0) == succeeds());
        CHECK(file.register_event(&word, 0, event.name()) == succeeds());
    }
    const auto& seen = fork.go_on();
    CHECK(seen.forked == succeeds());
    CHECK(seen.word == 1);
    CHECK(seen.unregistered == succeeds());
    CHECK(seen.unregistered_again == fails(ENOENT));
    CHECK(seen.word_at_last == 0);
}

TEST_CASE("A child has nothing of when nothing was registered as its memory was copied") {
    const auto registered_since = [] {
        Word word{0};
        DataFile file;
        const Event event(unique_name("nothing"));
        StoppedFork fork(word, file);
        int wrong = file.register_event(&word, 0, event.name()) != succeeds();
        const Enabled enabled{event};
        wrong += word != 1;
        const auto& seen = fork.go_on();
        return wrong + (seen.word != 0) + (seen.unregistered != fails(ENOENT));
    };
    SECTION("by a process that has never registered any") {
        CHECK(in_child(registered_since) == 0);
    }
    SECTION("by one that has") {
        Word word{0};
        DataFile file;
        REQUIRE(file.register_event(&word, 0, unique_name("before")) == succeeds());
        REQUIRE(file.unregister(&word, 0) == succeeds());
        CHECK(registered_since() == 0);
    }
}

TEST_CASE("A child without its parent's stack has the registrations all the same") {
    // By that page the kernel tells of forks.
    const int advice = GENERATE(MADV_WIPEONFORK, MADV_DONTFORK);
    CAPTURE(advice);
    const Event event(unique_name("stack"));
    CHECK(in_child([&] {
              const Mapping memory(1);
              Word& word = *memory.at<Word>();
              DataFile file;
              int wrong = file.register_event(&word, 0, event.name()) != succeeds();
              wrong += event.enable() != succeeds(1);
              wrong += madvise(stack_page(), page_size, advice) != 0;
              StoppedFork fork(word, file);
              own_page(word);
              wrong += event.disable() != succeeds(1) || word != 0;
              const auto& seen = fork.go_on();
              return wrong + (seen.word != 0) + (seen.unregistered != succeeds()) +
                     (seen.unregistered_again != fails(ENOENT));
          }) == 0);
}

TEST_CASE("A child follows what changes between the copying of its memory and its beginning") {
    const bool unregistered = GENERATE(false, true);
    CAPTURE(unregistered);
    Word word{0};
    DataFile file;
    const Event event(unique_name("change"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    StoppedFork fork(word, file);
    own_page(word);
    if (unregistered)
        CHECK(file.unregister(&word, 0) == succeeds());
    const Enabled enabled{event};
    const auto& seen = fork.go_on();
    CHECK(seen.word == 1);
    CHECK(seen.unregistered == succeeds());
    CHECK(word == !unregistered);
}

TEST_CASE("A fork that fails when the memory has been copied holds no event") {
    Word word{0};
    DataFile file, other;
    const Event event(unique_name("fails_late"));
    REQUIRE(file.register_event(&word, 0, event.name(), 4, USER_EVENT_REG_PERSIST) == succeeds());
    file.close();
    const auto fails_late = [&] {
        // With a number that is taken.
        return std::make_unique<StoppedFork>(word, other, getpid());
    };
    SECTION("unregistered meanwhile") {
        const auto fork = fails_late();
        CHECK(other.unregister(&word, 0) == succeeds());
        CHECK(fork->go_on().forked == fails(EEXIST));
    }
    SECTION("unregistered when its thread has ended") {
        CHECK(fails_late()->go_on().forked == fails(EEXIST));
        CHECK(other.unregister(&word, 0) == succeeds());
    }
    SECTION("after many of them") {
        for (int i = 0; i < 20; i++)
            CHECK(fails_late()->go_on().forked == fails(EEXIST));
        CHECK(StoppedFork(word, other).go_on().unregistered == succeeds());
        CHECK(other.unregister(&word, 0) == succeeds());
    }
    CHECK(eventually([&] { return other.delete_event(event.name()).ok(); }));
}

TEST_CASE("What is registered after the fork is not the other's") {
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

TEST_CASE("A registration that a child has inherited holds the event") {
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

TEST_CASE("Generations follow") {
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

TEST_CASE("A process that shares its parent's memory has the one set of registrations") {
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
