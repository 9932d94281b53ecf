// SPDX-License-Identifier: GPL-2.0-only
// Programs that block the kernel on purpose delay only their own bits. Users who create as many
// events as they can leave events to others, and do not slow them down.
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

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

/// A process with a registration in memory whose page faults it answers only on request. Until
/// then, each write of its bit waits.
class Blocker {
public:
    explicit Blocker(const Event& event, Userfault::Kind kind = Userfault::Kind::missing)
        : child_([=](Channel& channel) { return serve(channel, event, kind); }) {
        child_.channel().receive<char>();
    }

    /// Whether the kernel waits for its page.
    bool blocks() { return child_.channel().ask<bool>(Request::blocks); }
    void answer() { child_.channel().ask<bool>(Request::answer); }
    /// After answer(): discards the page, so that the next write of the bit waits again.
    void block_again() { child_.channel().ask<bool>(Request::block_again); }
    std::uint32_t word() { return child_.channel().ask<std::uint32_t>(Request::read); }
    /// Maps other memory over the page, so that UNREG does not wait, unregisters and closes the
    /// file. Returns whether that succeeded.
    bool remap_and_unregister() { return child_.channel().ask<bool>(Request::unregister); }
    void kill() { child_.kill(); }
    /// Returns the userfaultfd of the program.
    Descriptor userfault() {
        child_.channel().send(Request::pass);
        return child_.channel().receive_descriptor();
    }

private:
    enum class Request : char { blocks, answer, block_again, read, pass, unregister };

    static int serve(Channel& channel, const Event& event, Userfault::Kind kind) {
        Mapping memory(1);
        DataFile file;
        file.must_register(memory.at(), 0, event.name());
        auto fault = std::make_unique<Userfault>(memory, kind);
        channel.send('r');
        // Runs until killed. Not with receive(): with hundreds of programs, a request may come
        // after its deadline.
        for (Request request; read(channel.descriptor(), &request, 1) == 1;)
            switch (request) {
            case Request::blocks:
                channel.send(fault->has_waiter());
                break;
            case Request::answer:
                fault->answer();
                channel.send(true);
                break;
            case Request::block_again:
                fault.reset();
                fault = std::make_unique<Userfault>(memory, kind);
                channel.send(true);
                break;
            case Request::read:
                channel.send(memory.at<Word>()->load());
                break;
            case Request::pass:
                channel.send_descriptor(fault->descriptor());
                break;
            case Request::unregister:
                channel.send(mmap(memory.at(), page_size, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == memory.at() &&
                             file.unregister(memory.at(), 0).ok());
                file.close();
                break;
            }
        return 1;
    }

    Child child_;
};

/// A registered word in a page that can be discarded.
class DiscardableWord {
public:
    explicit DiscardableWord(const Event& event) {
        file_.must_register(memory_.at(), 0, event.name());
    }

    void discard_page() {
        if (madvise(memory_.at(), page_size, MADV_DONTNEED) != 0)
            throw_errno("MADV_DONTNEED");
    }
    std::uint32_t word() const { return *memory_.at<Word>(); }

private:
    Mapping memory_{1};
    DataFile file_;
};

constexpr auto kinds = {Userfault::Kind::missing, Userfault::Kind::write_protect};

} // namespace

TEST_CASE("A blocking program delays one change of its event and no other program's bits",
          "[waits][race]") {
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
    CHECK(holds_after_change([&] { return blocker.blocks(); }));

    // If each change waited for the program, it would take 200 ms longer.
    REQUIRE(event.disable() == succeeds(1));
    CHECK(median_change_time(event, changes) < baseline + 100ms);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    CHECK(discardable.word() == 1);
    CHECK(blocker.blocks());

    blocker.answer();
    CHECK(eventually([&] { return blocker.word() == 1; }));
    REQUIRE(event.disable() == succeeds(1));
    CHECK(holds_after_change([&] { return blocker.word() == 0; }));
    CHECK(word == 0);
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

TEST_CASE("300 blocking programs do not delay the bits of other programs") {
    const unsigned count = fewer_if_debug(300);
    const Event blocked(unique_name("blocked")), other(unique_name("other"));
    DiscardableWord discardable(other);
    std::vector<std::unique_ptr<Blocker>> blockers;
    for (unsigned i = 0; i < count; i++)
        blockers.push_back(std::make_unique<Blocker>(blocked));

    const Enabled blocked_enabled{blocked};
    CHECK(eventually([&] {
        return std::ranges::all_of(blockers, [](auto& blocker) { return blocker->blocks(); });
    }));
    discardable.discard_page();
    const Enabled other_enabled{other};
    CHECK(holds_after_change([&] { return discardable.word() == 1; }));
}

TEST_CASE("REG, UNREG and changes of other events proceed while a change waits for a program") {
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
            CHECK(holds_after_change([&] { return one.has_waiter() + two.has_waiter() == 1; }));
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

TEST_CASE("A blocking program can be killed and leaves nothing behind") {
    const Event event(unique_name("killed"));
    Blocker blocker(event);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(holds_after_change([&] { return blocker.blocks(); }));
    {
        // An open userfaultfd keeps the worker waiting for a page of the killed program.
        const bool kept_open = GENERATE(false, true);
        CAPTURE(kept_open);
        const Descriptor userfault = kept_open ? blocker.userfault() : Descriptor();
        blocker.kill();
        CHECK(event.exists());
    }
    REQUIRE(event.disable() == succeeds(1));
    CHECK(event.wait_removed());
}

TEST_CASE("The module cannot be unloaded while a worker waits for a page of a killed program") {
    module::Loaded loaded;
    const Event event(unique_name("stays"));
    {
        Blocker blocker(event);
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(holds_after_change([&] { return blocker.blocks(); }));
        REQUIRE(event.disable() == succeeds(1));
        const Descriptor userfault = blocker.userfault();
        blocker.kill();
        for (int round = 0; round < 100; round++)
            if (module::unload().ok())
                FAIL("unloaded while a worker waits, in round " << round);
        CHECK(Userfault::has_waiter(userfault));
    }
    CHECK(eventually([] { return module::unload().ok(); }));
    CHECK(module::load() == succeeds());
}

TEST_CASE("The module cannot be unloaded while a worker waits for a program that unregistered") {
    module::Loaded loaded;
    const Event event(unique_name("without"));
    {
        Blocker blocker(event);
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(holds_after_change([&] { return blocker.blocks(); }));
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

TEST_CASE("After exit or exec, the kernel writes no bit in memory that the program had shared") {
    const Event event(unique_name("shared")), last(unique_name("last"));
    Sharer program(event, last);
    const bool execs = GENERATE(false, true), disables = GENERATE(false, true);
    CAPTURE(execs, disables);
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
    CHECK(program.blocks());
    program.answer();
    CHECK(last.wait_removed());
    CHECK(program.shared() == expected);
    if (!disables)
        REQUIRE(event.disable() == succeeds(1));
    CHECK(event.wait_removed());
}

TEST_CASE("A program can be killed while REG or UNREG waits in a page fault") {
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

namespace {

constexpr uid_t attacker_uid = unprivileged_uid, victim_uid = unprivileged_uid - 1;

/// How many events an attacker can create: the default limit, or less on the slow debug kernel.
unsigned long events_of_user() {
    return fewer_if_debug(8192);
}

/// Gives all users access to a file for the lifetime of the object.
class Opened {
public:
    Opened(std::string path, mode_t mode) : path_(std::move(path)) {
        struct stat status;
        if (stat(path_.c_str(), &status) != 0 || chmod(path_.c_str(), mode) != 0)
            throw_errno("chmod " + path_);
        before_ = status.st_mode & 07777;
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    ~Opened() { chmod(path_.c_str(), before_); }

private:
    const std::string path_;
    mode_t before_;
};

/// Registers the nth format of a name with its own file, which the caller closes.
Outcome register_format(DataFile& file, Word& word, const std::string& name, std::size_t n) {
    return file.register_event(&word, 0, name + " u32 a_" + std::to_string(n), 4,
                               USER_EVENT_REG_MULTI_FORMAT);
}

/// An unprivileged process that has `count` formats of one name, and keeps creating and removing
/// further ones.
class FormatAttacker {
public:
    explicit FormatAttacker(std::size_t count)
        : child_([count](Channel& channel) {
              become_user(attacker_uid);
              const std::string name = unique_name("formats");
              std::vector<Word> words(count);
              Word word{0};
              DataFile keeping;
              for (std::size_t n = 0; n < count; n++)
                  expect(register_format(keeping, words[n], name, n), "register a format");
              channel.send('r');
              for (std::size_t n = count;; n++) {
                  DataFile file;
                  expect(register_format(file, word, name, n), "register a further format");
                  expect(file.unregister(&word, 0), "unregister");
                  file.close();
                  // Leaves the CPU to the victim, which otherwise waits for the scheduler.
                  std::this_thread::sleep_for(300us);
              }
              return 0;
          }) {
        child_.channel().receive<char>();
    }

    void kill() { child_.kill(); }

private:
    Child child_;
};

/// How long an operation of a user's program takes.
struct Durations {
    Clock::duration registering, enabling, writing, exiting;
};

Durations run_victim(const Event& event) {
    Durations taken{};
    const auto measure = [](auto&& operation) {
        const auto start = Clock::now();
        operation();
        return Clock::now() - start;
    };
    Word word{0};
    DataFile file;
    Child child([&](Channel& channel) {
        become_user(victim_uid);
        std::uint32_t index = 0;
        channel.send(measure([&] { index = file.must_register(&word, 0, event.name()); }));
        channel.receive<char>();
        channel.send(measure([&] {
            for (int i = 0; i < 100; i++)
                expect(file.record(index), "write");
        }));
        channel.receive<char>();
        return 0;
    });
    taken.registering = child.channel().receive<Clock::duration>();
    taken.enabling = measure([&] { expect(event.enable(), "enable"); });
    taken.writing = child.channel().ask<Clock::duration>('w');
    taken.enabling += measure([&] { expect(event.disable(), "disable"); });
    taken.exiting = measure([&] {
        child.kill();
        file.close();
    });
    return taken;
}

/// Returns the medians of many runs.
Durations run_victims() {
    std::vector<Clock::duration> registering, enabling, writing, exiting;
    const Event event(unique_name("victim"));
    // Enabling the first event and disabling the last one patch kernel code, which is slow.
    const Event other(unique_name("enabled"));
    Word word{0};
    DataFile file;
    file.must_register(&word, 0, other.name());
    const Enabled enabled{other};
    for (unsigned round = 0; round < fewer_if_debug(100); round++) {
        const Durations taken = run_victim(event);
        registering.push_back(taken.registering);
        enabling.push_back(taken.enabling);
        writing.push_back(taken.writing);
        exiting.push_back(taken.exiting);
    }
    return {median(registering), median(enabling), median(writing), median(exiting)};
}

} // namespace

TEST_CASE("A user who creates as many events as possible leaves other users theirs") {
    Setting limit("/proc/sys/kernel/user_events_max_per_user");
    limit.set(std::to_string(events_of_user()));
    const std::string name = unique_name("squatter");
    const unsigned flags = GENERATE(0, USER_EVENT_REG_MULTI_FORMAT);
    CAPTURE(flags);
    Word word{0};
    DataFile file, other;
    const unsigned long before = stable_status_count("Active: ");
    {
        Child attacker([&](Channel& channel) {
            become_user(attacker_uid);
            std::vector<Word> words(2 * events_of_user());
            Outcome outcome = succeeds();
            for (std::size_t n = 0; n < words.size() && outcome.ok(); n++)
                outcome = file.register_event(&words[n], 0, name + std::to_string(n), 4, flags);
            channel.send(outcome.error());
            channel.receive<char>();
            return 0;
        });
        CHECK(attacker.channel().receive<int>() == EMFILE);
        CHECK(status_count("Active: ") == before + events_of_user());
        const Event event(unique_name("other"));
        CHECK(in_child([&] {
                  become_user(victim_uid);
                  return other.register_event(&word, 0, event.name()).error();
              }) == 0);
        const Enabled enabled{event};
        CHECK(status_line(event.name()) == event.name() + " # Used by ftrace");
    }
    file.close();
    other.close();
    CHECK(eventually([&] { return status_count("Active: ") == before; }));
}

TEST_CASE("A user with many formats of one name slows others down by less than a factor of 5") {
    const Opened directory(tracing_file(""), 0711);
    const Opened file(tracing_file("user_events_data"), 0666);
    const auto slowdown = [](Clock::duration few, Clock::duration many) {
        return static_cast<double>(many.count()) / static_cast<double>(few.count());
    };
    // The same attack with few formats, so that both compete for the CPUs in the same way.
    FormatAttacker weak(10);
    const Durations few = run_victims();
    weak.kill();
    FormatAttacker strong(events_of_user() - 1);
    const Durations many = run_victims();
    strong.kill();
    CHECK(slowdown(few.registering, many.registering) < 5);
    CHECK(slowdown(few.enabling, many.enabling) < 5);
    CHECK(slowdown(few.writing, many.writing) < 5);
    CHECK(slowdown(few.exiting, many.exiting) < 5);
}

TEST_CASE("Payloads that no recorder can hold are refused before the kernel reads their memory") {
    constexpr unsigned writers = 32;
    const Event event(unique_name("large"));
    Word word{0};
    DataFile file;
    const std::uint32_t index = file.must_register(&word, 0, event.name());
    const Enabled enabled{event};
    struct Result {
        unsigned refused;
        bool memory_was_read;
    };
    Child child([&](Channel& channel) -> int {
        static constexpr std::size_t sizes[] = {5000, 9000, 65536, 1 << 20};
        Mapping memory(sizes[3] / page_size);
        Word own{0};
        DataFile data;
        std::uint32_t own_index = data.must_register(&own, 0, event.name());
        const Userfault fault(memory);
        become_user(unprivileged_uid);
        std::atomic<unsigned> refused{0}, ended{0};
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < writers; i++)
            threads.emplace_back([&] {
                for (std::size_t size : sizes) {
                    iovec parts[] = {{&own_index, sizeof(own_index)}, {memory.at(), size}};
                    refused += Outcome::of(writev(data.descriptor(), parts, 2)) == fails(E2BIG);
                }
                ended++;
            });
        eventually([&] { return ended == writers || fault.has_waiter(); });
        channel.send(Result{refused / static_cast<unsigned>(std::size(sizes)), fault.has_waiter()});
        channel.receive<char>();
        // Some threads may wait.
        _exit(0);
    });
    const auto result = child.channel().receive<Result>();
    CHECK(result.refused == writers);
    CHECK_FALSE(result.memory_was_read);
    CHECK(file.record(index) == succeeds(4));
    child.channel().send('e');
    CHECK(child.wait() == 0);
}
