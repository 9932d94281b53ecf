// SPDX-License-Identifier: GPL-2.0-only
// Programs that would block the kernel on purpose.
#include "blocker.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

constexpr auto kinds = {Userfault::Kind::missing, Userfault::Kind::write_protect};

} // namespace

// The program might be the one that has to fill the page.
TEST_CASE(
    "The kernel waits for no page that userfaultfd fills, and writes the bit once it is there",
    "[race][long]") {
    const Userfault::Kind kind = GENERATE(values(kinds));
    CAPTURE(kind == Userfault::Kind::missing);
    const Event event(unique_name("hangs"));
    Word word{0};
    DiscardableWord discardable(event);
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Blocker blocker(event, kind);
    discardable.discard_page();
    unshare_page(word);
    for (unsigned round = 0; round < 10; round++) {
        const bool enable = round % 2 == 0;
        REQUIRE((enable ? event.enable() : event.disable()) == succeeds(1));
        CHECK(word == enable);
        CHECK(discardable.word() == enable);
        CHECK_FALSE(blocker.blocks());
    }
    blocker.answer();
    CHECK(blocker.word() == 0);
    REQUIRE(event.enable() == succeeds(1));
    // Linux 6.1 leaves a page read-only whose protection has ended.
    if (kind == Userfault::Kind::missing)
        CHECK(blocker.word() == 1);
    REQUIRE(event.disable() == succeeds(1));
    CHECK(blocker.word() == 0);
}

TEST_CASE("A program can open and close a userfaultfd while its event changes") {
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

namespace {

/// A sleeping child with bits in two pages. The first page is absent, so that the program has to
/// write a bit; the second page is shared with the test. The event `last` exists as long as the
/// registrations do.
class Sharer {
public:
    Sharer(const Event& event, const Event& last)
        : child_([&](Channel& channel) { return serve(channel, event, last); }) {
        child_.channel().receive<char>();
    }

    Word& shared() { return *second_.at<Word>(); }
    bool sleeps() const { return state_of(child_.pid(), child_.pid()) == 'S'; }

    void kill() { child_.kill(); }
    /// Makes it execute a program that keeps running. Returns whether it did.
    bool execute() {
        child_.channel().send('e');
        const std::string name = "/proc/" + std::to_string(child_.pid()) + "/comm";
        return eventually([&] { return read_text(name) == "cat\n"; });
    }

private:
    int serve(Channel& channel, const Event& event, const Event& last) {
        DataFile file;
        file.must_register(first_.at(), 0, event.name());
        file.must_register(second_.at(), 0, event.name());
        file.must_register(second_.at(), 1, last.name());
        file.close();
        expect(Outcome::of(madvise(first_.at(), page_size, MADV_DONTNEED)), "MADV_DONTNEED");
        channel.send('r');
        channel.receive<char>();
        dup2(channel.descriptor(), STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", "exec cat >/dev/null", nullptr);
        return errno;
    }

    const Mapping first_{1}, second_{1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS};
    Child child_;
};

} // namespace

TEST_CASE("After exit or exec, the kernel writes no bit in memory that the program had shared",
          "[long]") {
    const Event event(unique_name("shared")), last(unique_name("last"));
    Sharer program(event, last);
    const bool execs = GENERATE(false, true), disables = GENERATE(false, true);
    CAPTURE(execs, disables);
    REQUIRE(eventually([&] { return program.sleeps(); }));
    REQUIRE(event.enable() == succeeds(1));
    CHECK(program.shared() == 1);
    if (execs)
        REQUIRE(program.execute());
    else
        program.kill();

    // Neither the change of state nor the program itself writes the bit.
    const std::uint32_t expected = disables ? 1 : 0;
    program.shared() = expected;
    if (disables)
        REQUIRE(event.disable() == succeeds(1));
    CHECK(program.shared() == expected);
    CHECK(last.wait_removed());
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
