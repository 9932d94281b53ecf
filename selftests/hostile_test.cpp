// SPDX-License-Identifier: GPL-2.0-only
// Programs that block the kernel on purpose delay only their own bits. A slow machine delays bits,
// too: pauses_test has the test that accepts no late one.
#include "blocker.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "median.hpp"
#include "module.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <memory>
#include <poll.h>
#include <sched.h>
#include <set>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kinds = {Userfault::Kind::missing, Userfault::Kind::write_protect};

} // namespace

TEST_CASE("A blocking program delays one change of its event and no other program's bits",
          "[waits][race][long]") {
    const Userfault::Kind kind = GENERATE(values(kinds));
    CAPTURE(kind == Userfault::Kind::missing);
    const Event event(unique_name("hangs"));
    Word word{0};
    DiscardableWord discardable(event);
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    constexpr unsigned changes = 60;
    const auto baseline = median_change_time(event, changes);
    Blocker blocker(event, kind);
    CHECK_FALSE(blocker.blocks());

    discardable.discard_page();
    unshare_page(word);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    CHECK(holds_after_change([&] { return discardable.word() == 1; }));
    CHECK(eventually([&] { return blocker.blocks(); }));

    // If each change waited for the program, it would take 200 ms longer.
    REQUIRE(event.disable() == succeeds(1));
    CHECK(median_change_time(event, changes) < baseline + 100ms);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    CHECK(holds_after_change([&] { return discardable.word() == 1; }));
    CHECK(blocker.blocks());

    blocker.answer();
    CHECK(eventually([&] { return blocker.word() == 1; }));
    REQUIRE(event.disable() == succeeds(1));
    CHECK(word == 0);
    CHECK(eventually([&] { return blocker.word() == 0; }));
}

TEST_CASE("A program that answers each page fault a little too late delays few changes") {
    constexpr unsigned rounds = 30;
    const Event event(unique_name("late"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    const auto baseline = median_change_time(event, rounds);
    Blocker blocker(event);
    unshare_page(word);
    // If each enabling waited for the program, it would take 200 ms longer.
    std::vector<Clock::duration> taken;
    for (unsigned round = 0; round < rounds; round++) {
        const auto start = Clock::now();
        REQUIRE(event.enable() == succeeds(1));
        taken.push_back(Clock::now() - start);
        CHECK(word == 1);
        REQUIRE(eventually([&] { return blocker.blocks(); }));
        blocker.answer();
        REQUIRE(eventually([&] { return blocker.word() == 1; }));
        REQUIRE(event.disable() == succeeds(1));
        CHECK(word == 0);
        REQUIRE(eventually([&] { return blocker.word() == 0; }));
        blocker.block_again();
    }
    CHECK(median(taken) < baseline + 100ms);
}

namespace {

std::vector<std::unique_ptr<Blocker>> blockers(unsigned count, const Event& event, uid_t user = 0) {
    std::vector<std::unique_ptr<Blocker>> blockers;
    for (unsigned i = 0; i < count; i++)
        blockers.push_back(std::make_unique<Blocker>(event, Userfault::Kind::missing, user));
    return blockers;
}

/// The pages of blockers for which the kernel waits.
class BlockedPages {
public:
    BlockedPages() = default;
    explicit BlockedPages(const std::vector<std::unique_ptr<Blocker>>& blockers) {
        for (auto& blocker : blockers)
            add(blocker->userfault());
    }

    void add(Descriptor userfault) {
        userfaults_.push_back(std::move(userfault));
        polled_.push_back({userfaults_.back().number(), POLLIN, 0});
    }

    /// Returns the indexes of the pages for which the kernel waits at one time: of two answers that
    /// are the same. While the kernel looks at them for one answer, it may end waiting for a page
    /// and start with the next.
    std::set<std::size_t> indexes() {
        std::set<std::size_t> before, after;
        REQUIRE(eventually([&] {
            before = poll_once();
            after = poll_once();
            return before == after;
        }));
        return after;
    }

private:
    std::set<std::size_t> poll_once() {
        if (poll(polled_.data(), polled_.size(), 0) < 0)
            throw_errno("poll");
        std::set<std::size_t> blocked;
        for (std::size_t i = 0; i < polled_.size(); i++)
            if (polled_[i].revents & POLLIN)
                blocked.insert(i);
        return blocked;
    }

    std::vector<Descriptor> userfaults_;
    std::vector<pollfd> polled_;
};

/// Returns the number of the kernel's threads.
unsigned kernel_threads() {
    unsigned count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::string stat;
        try {
            stat = read_text(entry.path() / "stat");
        } catch (const std::system_error&) {
            // Not a process, or it has exited.
            continue;
        }
        // After the name: state and parent. The parent of all these threads is kthreadd, process 2.
        const std::size_t name_end = stat.rfind(')');
        count += name_end != std::string::npos && stat.substr(name_end + 4, 2) == "2 ";
    }
    return count;
}

} // namespace

TEST_CASE("300 blocking programs of a user get few kernel threads and delay no other user's bits",
          "[long]") {
    const unsigned count = fewer_if_debug(300);
    Setting permitted("/proc/sys/vm/unprivileged_userfaultfd");
    permitted.set("1");
    const Event blocked(unique_name("blocked")), other(unique_name("other"));
    DiscardableWord discardable(other);
    const auto hostile = blockers(count, blocked, unprivileged_uid);
    BlockedPages pages(hostile);
    const unsigned threads = kernel_threads();

    const Enabled blocked_enabled{blocked};
    // Until the kernel has waited for several programs in turn: then it has all its threads.
    std::set<std::size_t> blocked_once;
    CHECK(eventually([&] {
        blocked_once.merge(pages.indexes());
        return blocked_once.size() >= 20;
    }));
    CHECK(pages.indexes().size() <= 4);
    // The kernel may start some threads for other reasons.
    CHECK(kernel_threads() < threads + 20);
    for (int round = 0; round < 3; round++) {
        discardable.discard_page();
        const Enabled other_enabled{other};
        CHECK(holds_after_change([&] { return discardable.word() == 1; }));
    }
}

TEST_CASE("The blocking programs of 400 users occupy at most 256 kernel threads, in 64 pools",
          "[long]") {
    // Were there 32 pools, they would occupy at most 128 threads; with 128 pools, about 340.
    const unsigned count = fewer_if_debug(400);
    Setting permitted("/proc/sys/vm/unprivileged_userfaultfd");
    permitted.set("1");
    const Event event(unique_name("blocked"));
    std::vector<std::unique_ptr<Blocker>> hostile;
    for (unsigned i = 0; i < count; i++)
        hostile.push_back(std::make_unique<Blocker>(event, Userfault::Kind::missing, 1000 + i));
    BlockedPages pages(hostile);
    const Enabled enabled{event};
    CHECK(eventually([&] { return pages.indexes().size() > count / 3; }));
    for (int round = 0; round < 20; round++)
        CHECK(pages.indexes().size() <= 256);
}

namespace {

/// A user namespace of an unprivileged user, with programs of `count` user IDs in it. Each sends
/// the userfaultfd of the page with its bit.
class NamespaceOfBlockers {
public:
    NamespaceOfBlockers(const Event& event, unsigned count)
        : child_([&](Channel& channel) {
              DataFile file;
              become_user(unprivileged_uid);
              if (unshare(CLONE_NEWUSER) != 0)
                  throw_errno("unshare");
              channel.send('n');
              channel.receive<char>();
              for (uid_t user = 1; user <= count; user++)
                  if (const pid_t pid = fork(); pid == 0)
                      block(channel, file, event, user);
              return channel.receive<char>() == 'e' ? 0 : 1;
          }) {
        child_.channel().receive<char>();
        const std::string process = "/proc/" + std::to_string(child_.pid());
        for (const char* file : {"/uid_map", "/gid_map"})
            expect(write_text(process + file, "0 200000 1000"), process + file);
        child_.channel().send('m');
        for (unsigned i = 0; i < count; i++)
            pages.add(child_.channel().receive_descriptor());
    }

    BlockedPages pages;

private:
    [[noreturn]] static void block(Channel& channel, DataFile& file, const Event& event,
                                   uid_t user) {
        if (setresuid(user, user, user) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
            _exit(1);
        const Mapping memory(1);
        file.must_register(memory.at(), 0, event.name());
        const Userfault fault(memory);
        channel.send_descriptor(fault.descriptor());
        for (;;)
            pause();
    }

    Child child_;
};

} // namespace

TEST_CASE("All users of a user namespace together get four kernel threads") {
    constexpr unsigned count = 20;
    Setting permitted("/proc/sys/vm/unprivileged_userfaultfd");
    permitted.set("1");
    const Event event(unique_name("blocked"));
    NamespaceOfBlockers hostile(event, count);
    const Enabled enabled{event};
    // Until the kernel has waited for each of them.
    std::set<std::size_t> blocked_once;
    std::size_t most = 0;
    CHECK(eventually([&] {
        const auto blocked = hostile.pages.indexes();
        most = std::max(most, blocked.size());
        blocked_once.insert(blocked.begin(), blocked.end());
        return blocked_once.size() == count && most >= 4;
    }));
    CHECK(most == 4);
}

TEST_CASE("300 blocking programs do not keep the bits of their own user's programs from changing",
          "[long]") {
    const unsigned count = fewer_if_debug(300);
    const Event blocked(unique_name("blocked")), other(unique_name("other"));
    DiscardableWord discardable(other);
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, other.name()) == succeeds());
    const auto blocking = blockers(count, blocked);
    BlockedPages pages(blocking);
    unshare_page(word);

    const Enabled blocked_enabled{blocked};
    CHECK(eventually([&] { return !pages.indexes().empty(); }));
    discardable.discard_page();
    const Enabled other_enabled{other};
    // Written at once, because the page is there.
    CHECK(word == 1);
    CHECK(eventually([&] { return discardable.word() == 1; }));
    // Each of them gets its turn again.
    for (unsigned i = 0; i < count; i += count / 3)
        blocking[i]->answer();
    for (unsigned i = 0; i < count; i += count / 3)
        CHECK(eventually([&] { return blocking[i]->word() == 1; }));
}

TEST_CASE("Four programs with very many bits delay their user's other programs by a turn of 200 ms",
          "[long]") {
    const Event event(unique_name("many")), other(unique_name("other"));
    DiscardableWord discardable(other);
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    struct Programs {
        std::atomic<unsigned> begun, complete;
    };
    auto& nr = *shared.at<Programs>();
    Child programs([&](Channel& channel) -> int {
        Mapping memory(8);
        DataFile file;
        for (std::size_t word = 0; word < memory.size(); word += 4 * sizeof(Word))
            for (unsigned bit = 0; bit < 32; bit++)
                file.must_register(memory.at(word), bit, event.name());
        // The children inherit the registrations. Each program shares its pages with the others
        // until something is written, so that a worker takes page faults for the bits.
        for (unsigned i = 0; i < 3; i++)
            if (fork() == 0)
                break;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        channel.send('r');
        const auto wait_for = [&](std::size_t word) {
            eventually([&] { return *memory.at<Word>(word) >> 31 != 0; });
        };
        wait_for(0);
        nr.begun++;
        wait_for(memory.size() - 4 * sizeof(Word));
        nr.complete++;
        for (;;)
            pause();
    });
    for (unsigned i = 0; i < 4; i++)
        programs.channel().receive<char>();
    const Enabled enabled{event};
    REQUIRE(eventually([&] { return nr.begun == 4; }));
    discardable.discard_page();
    const Enabled other_enabled{other};
    REQUIRE(eventually([&] { return discardable.word() == 1; }));
    CHECK(nr.complete == 0);
    CHECK(eventually([&] { return nr.complete == 4; }));
}

TEST_CASE("Programs that block in turns, each for less than the timeout, delay a change for 1 s",
          "[long]") {
    const unsigned count = fewer_if_debug(400, 150);
    const Event event(unique_name("turns")), silent(unique_name("silent"));
    // A change waits 200 ms for a program that never answers.
    const Blocker never(silent);
    const auto start_of_one = Clock::now();
    REQUIRE(silent.enable() == succeeds(1));
    const auto one = Clock::now() - start_of_one;
    REQUIRE(silent.disable() == succeeds(1));
    const auto blocking = blockers(count, event);
    std::atomic<bool> returned{false};
    Clock::duration spent{};
    std::jthread change([&] {
        const auto start = Clock::now();
        expect(event.enable(), "enable");
        spent = Clock::now() - start;
        returned = true;
    });
    // One program after the other lets its update complete.
    unsigned answered = 0;
    while (!returned && answered < count) {
        blocking[answered++]->answer();
        std::this_thread::sleep_for(20ms);
    }
    change.join();
    CHECK(answered < count);
    // Five times as long, and as much again for a slow machine.
    CHECK(spent < 10 * one);
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE("REG, UNREG and changes of other events proceed while a change waits for a program",
          "[long]") {
    const unsigned rounds = fewer_if_debug(10, 4);
    const auto end = Clock::now() + wait_limit;
    const Event event(unique_name("blocked")), other(unique_name("other"));
    DiscardableWord discardable(other);
    Word word{0};
    DataFile file;
    unsigned overlapped = 0;
    // An even number, because every second round disables the event.
    const auto needs_round = [&](unsigned round) {
        return round < rounds || round % 2 || (overlapped == 0 && Clock::now() < end);
    };
    for (unsigned round = 0; needs_round(round); round++) {
        CAPTURE(round);
        // A new program: once a change has timed out for one, later changes do not wait for it.
        Blocker blocker(event);
        std::atomic<bool> returned{false};
        std::jthread change([&] {
            expect(round % 2 ? event.disable() : event.enable(), "change");
            returned = true;
        });
        REQUIRE(eventually([&] { return blocker.blocks(); }));
        // Each of these takes event_mutex.
        CHECK(file.register_event(&word, 0, event.name()) == succeeds());
        CHECK(file.unregister(&word, 0) == succeeds());
        overlapped += !returned;
        {
            const Instance instance;
            CHECK(exists(instance.path("trace")));
        }
        // A change of another event returns only after that event's bits are written.
        discardable.discard_page();
        REQUIRE(other.enable() == succeeds(1));
        CHECK(holds_after_change([&] { return discardable.word() == 1; }));
        REQUIRE(other.disable() == succeeds(1));
        CHECK(holds_after_change([&] { return discardable.word() == 0; }));
        CHECK(blocker.blocks());
        change.join();
        CHECK(blocker.blocks());
        blocker.answer();
        CHECK(eventually([&] { return blocker.word() == (round % 2 ? 0 : 1); }));
    }
    CHECK(overlapped > 0);
}

TEST_CASE("A blocking program occupies one worker, however many of its bits change") {
    const Event event(unique_name("one")), other(unique_name("another"));
    // Both bits are in this address space, each in its own page.
    Mapping first(1), second(1);
    DataFile file;
    REQUIRE(file.register_event(first.at(), 0, event.name()) == succeeds());
    REQUIRE(file.register_event(second.at(), 0, other.name()) == succeeds());
    {
        Userfault one(first), two(second);
        for (int round = 0; round < 10; round++) {
            REQUIRE(event.enable() == succeeds(1));
            REQUIRE(other.enable() == succeeds(1));
            CHECK(eventually([&] { return one.has_waiter() || two.has_waiter(); }));
            CHECK(one.has_waiter() + two.has_waiter() == 1);
            REQUIRE(event.disable() == succeeds(1));
            REQUIRE(other.disable() == succeeds(1));
        }
        REQUIRE(other.enable() == succeeds(1));
        // Once this page is present, the worker waits for the other page.
        const bool waits_for_one = one.has_waiter();
        (waits_for_one ? one : two).answer();
        CHECK(eventually([&] { return (waits_for_one ? two : one).has_waiter(); }));
    }
    CHECK(eventually([&] { return *second.at<Word>() == 1; }));
    CHECK(*first.at<Word>() == 0);
    REQUIRE(other.disable() == succeeds(1));
}

TEST_CASE("A bit of a page that a waiting worker has passed is written after the wait") {
    const Event event(unique_name("passed")), other(unique_name("waits"));
    // A worker writes bits in the order of their addresses.
    Mapping one(1), another(1);
    Mapping& passed = one.at() < another.at() ? one : another;
    Mapping& blocked = one.at() < another.at() ? another : one;
    DataFile file;
    REQUIRE(file.register_event(passed.at(), 0, event.name()) == succeeds());
    REQUIRE(file.register_event(blocked.at(), 0, other.name()) == succeeds());
    Userfault fault(blocked);
    REQUIRE(other.enable() == succeeds(1));
    REQUIRE(eventually([&] { return fault.has_waiter(); }));
    REQUIRE(madvise(passed.at(), passed.size(), MADV_DONTNEED) == 0);
    REQUIRE(event.enable() == succeeds(1));
    fault.answer();
    CHECK(eventually([&] { return *blocked.at<Word>() == 1; }));
    CHECK(eventually([&] { return *passed.at<Word>() == 1; }));
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(other.disable() == succeeds(1));
}

TEST_CASE("A blocking program can be killed and leaves nothing behind") {
    const Event event(unique_name("killed"));
    Blocker blocker(event);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(eventually([&] { return blocker.blocks(); }));
    // While its userfaultfd is open, the page fault is not resolved.
    const bool kept_open = GENERATE(false, true);
    CAPTURE(kept_open);
    const Descriptor userfault = kept_open ? blocker.userfault() : Descriptor();
    blocker.kill();
    REQUIRE(event.disable() == succeeds(1));
    CHECK(event.wait_removed());
    if (kept_open)
        CHECK(eventually([&] { return !Userfault::has_waiter(userfault); }));
}

TEST_CASE("A program can close its userfaultfd while a worker begins to wait for it", "[long]") {
    const Event event(unique_name("closes"));
    Child program([&](Channel& channel) {
        Mapping memory(1);
        DataFile file;
        file.must_register(memory.at(), 0, event.name());
        channel.send('r');
        for (Rounds rounds(100, 100000, 5s); rounds.next();)
            const Userfault fault(memory);
        channel.send('e');
        // The event exists until the administrator has stopped.
        channel.receive<char>();
        return 0;
    });
    REQUIRE(program.channel().receive<char>() == 'r');
    std::atomic<bool> stop{false};
    std::jthread administrator([&] {
        for (unsigned change = 0; change % 2 || !stop; change++)
            expect(change % 2 ? event.disable() : event.enable(), "change");
    });
    char last = 0;
    CHECK_NOTHROW(last = program.channel().receive<char>());
    stop = true;
    administrator.join();
    CHECK(last == 'e');
    // Else the program cannot even be killed.
    if (last == 'e') {
        program.channel().send('c');
        CHECK(program.wait() == 0);
    }
}

TEST_CASE("The memory of a killed program is freed while its page faults stay unresolved") {
    constexpr std::size_t megabytes = 64;
    // What a CPU keeps for itself does not count as free: at most a thousandth of the memory.
    Setting kept("/proc/sys/vm/percpu_pagelist_high_fraction");
    kept.set("1000");
    const Event event(unique_name("freed"));
    Child program([&](Channel& channel) {
        Mapping memory(1);
        Mapping large(megabytes << 20 >> 12);
        std::fill_n(large.at(), large.size(), std::byte{1});
        DataFile file;
        file.must_register(memory.at(), 0, event.name());
        const Userfault fault(memory);
        channel.send_descriptor(fault.descriptor());
        channel.receive<char>();
        return 0;
    });
    const Descriptor userfault = program.channel().receive_descriptor();
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(eventually([&] { return Userfault::has_waiter(userfault); }));
    const auto free_megabytes = [] {
        for (const std::string& line : lines_of(read_text("/proc/meminfo")))
            if (line.starts_with("MemFree:"))
                return std::stoul(line.substr(8)) >> 10;
        throw std::runtime_error("no MemFree");
    };
    const auto before = free_megabytes();
    program.kill();
    CHECK(eventually([&] { return free_megabytes() > before + megabytes / 2; }));
    REQUIRE(event.disable() == succeeds(1));
}

TEST_CASE("The module cannot be unloaded while a worker waits for a program that unregistered") {
    module::Loaded loaded;
    const Event event(unique_name("without"));
    {
        Blocker blocker(event);
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(eventually([&] { return blocker.blocks(); }));
        REQUIRE(blocker.remap_and_unregister());
        REQUIRE(event.disable() == succeeds(1));
        CHECK(event.wait_removed());
        for (int round = 0; round < 100; round++)
            if (module::unload().ok())
                FAIL("unloaded while a worker waits, in round " << round);
        CHECK(blocker.blocks());
    }
    CHECK(eventually([] { return module::unload().ok(); }));
    CHECK(module::load() == succeeds());
}

namespace {

/// A child with bits in two pages, updated in this order: writing the first one waits, and the
/// second page is shared with the test. The event `last` exists as long as the registrations do.
class Sharer {
public:
    Sharer(const Event& event, const Event& last)
        : child_([&](Channel& channel) { return serve(channel, event, last); }),
          userfault_(child_.channel().receive_descriptor()) {}

    bool blocks() const { return Userfault::has_waiter(userfault_); }
    void answer() { userfault_.close(); }
    Word& shared() { return *second().at<Word>(); }

    void kill() { child_.kill(); }
    /// Makes it execute a program that keeps running. Returns whether it did.
    bool execute() {
        child_.channel().send('e');
        const std::string name = "/proc/" + std::to_string(child_.pid()) + "/comm";
        return eventually([&] { return read_text(name) == "cat\n"; });
    }

private:
    Mapping& first() { return one_.at() < other_.at() ? one_ : other_; }
    Mapping& second() { return one_.at() < other_.at() ? other_ : one_; }

    int serve(Channel& channel, const Event& event, const Event& last) {
        DataFile file;
        file.must_register(first().at(), 0, event.name());
        file.must_register(second().at(), 0, event.name());
        file.must_register(second().at(), 1, last.name());
        file.close();
        const Userfault fault(first());
        channel.send_descriptor(fault.descriptor());
        channel.receive<char>();
        dup2(channel.descriptor(), STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", "exec cat >/dev/null", nullptr);
        return errno;
    }

    /// Replaces a page by memory that the test and its child share.
    struct Shared {
        explicit Shared(const Mapping& page) {
            if (mmap(page.at(), page.size(), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
                throw_errno("mmap");
        }
    };

    Mapping one_{1}, other_{1};
    Shared is_shared_{second()};
    Child child_;
    Descriptor userfault_;
};

} // namespace

TEST_CASE("After exit or exec, the kernel writes no bit in memory that the program had shared",
          "[long]") {
    const Event event(unique_name("shared")), last(unique_name("last"));
    Sharer program(event, last);
    const bool execs = GENERATE(false, true), disables = GENERATE(false, true);
    // Else the worker is interrupted.
    const bool answers = GENERATE(false, true);
    CAPTURE(execs, disables, answers);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(eventually([&] { return program.blocks(); }));
    CHECK(program.shared() == 1);
    if (execs)
        REQUIRE(program.execute());
    else
        program.kill();

    // Neither the change of state nor the waiting worker writes the bit.
    const std::uint32_t expected = disables ? 1 : 0;
    program.shared() = expected;
    if (disables)
        REQUIRE(event.disable() == succeeds(1));
    CHECK(program.shared() == expected);
    if (answers)
        program.answer();
    CHECK(last.wait_removed());
    CHECK(eventually([&] { return answers || !program.blocks(); }));
    CHECK(program.shared() == expected);
    if (!disables)
        REQUIRE(event.disable() == succeeds(1));
    CHECK(event.wait_removed());
}

TEST_CASE("Only a fatal signal ends REG or UNREG while it waits in a page fault") {
    const Event event(unique_name("in_ioctl"));
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const bool registers = GENERATE(false, true);
    CAPTURE(registers);
    auto& stage = *shared.at<std::atomic<int>>();
    Child child([&](Channel& channel) -> int {
        Mapping memory(1);
        DataFile file;
        if (!registers)
            file.must_register(memory.at(), 0, event.name());
        std::signal(SIGUSR1, [](int) {});
        Userfault fault(memory);
        channel.send_descriptor(fault.descriptor());
        stage = 1;
        if (registers)
            file.register_event(memory.at(), 0, event.name());
        else
            file.unregister(memory.at(), 0);
        stage = 2;
        return 0;
    });
    // Kept open, so that only the signal ends the wait.
    const Descriptor fault = child.channel().receive_descriptor();
    REQUIRE(eventually([&] { return Userfault::has_waiter(fault); }));
    CHECK(event.exists());
    kill(child.pid(), SIGUSR1);
    CHECK_FALSE(eventually([&] { return stage == 2; }, 100ms));
    child.kill();
    CHECK(stage == 1);
    CHECK(event.wait_removed());
}

TEST_CASE("Bits follow an event at once while other programs register and unregister it") {
    constexpr unsigned count = 2;
    const Event event(unique_name("loop")), other(unique_name("enabled"));
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    struct Counts {
        std::atomic<bool> stop;
        std::atomic<unsigned> rounds, refused, set, cleared;
    };
    auto& counts = *shared.at<Counts>();
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    REQUIRE(file.register_event(&word, 1, other.name()) == succeeds());
    // Enabling the first event and disabling the last one patch kernel code, which is very slow in
    // an emulator with busy CPUs. So one event stays enabled.
    const Enabled enabled{other};
    std::vector<std::unique_ptr<Child>> children;
    for (unsigned i = 0; i < count; i++)
        children.push_back(std::make_unique<Child>([&](Channel&) {
            Word own{0};
            DataFile data;
            while (!counts.stop) {
                counts.refused += !data.register_event(&own, 5, event.name()).ok();
                (own == 1u << 5 ? counts.set : counts.cleared)++;
                counts.refused += !data.unregister(&own, 5).ok() || own != 0;
                counts.rounds++;
            }
            return 0;
        }));
    REQUIRE(eventually([&] { return counts.rounds > count; }));
    unshare_page(word);
    unsigned wrong = 0;
    for (unsigned round = 0; round < fewer_if_debug(200); round++) {
        REQUIRE(event.enable() == succeeds(1));
        wrong += word != 3;
        REQUIRE(event.disable() == succeeds(1));
        wrong += word != 2;
    }
    counts.stop = true;
    for (auto& child : children)
        CHECK(child->wait() == 0);
    CHECK(wrong == 0);
    CHECK(counts.refused == 0);
    // REG saw the event enabled and disabled.
    CHECK(counts.set > 0);
    CHECK(counts.cleared > 0);
}

TEST_CASE("A change waits its full time limit even if an earlier change times out") {
    const Event event(unique_name("first")), other(unique_name("second"));
    Blocker first(event), second(other);
    std::jthread change([&] { expect(event.enable(), "enable"); });
    REQUIRE(eventually([&] { return first.blocks(); }));
    // Half of the time that a change waits for a program.
    std::this_thread::sleep_for(100ms);
    const auto start = Clock::now();
    REQUIRE(other.enable() == succeeds(1));
    CHECK(Clock::now() - start > 150ms);
    change.join();
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(other.disable() == succeeds(1));
}
