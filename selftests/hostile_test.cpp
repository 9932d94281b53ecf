// SPDX-License-Identifier: GPL-2.0-only
// Programs that do what they can to hinder the kernel: they delay their own bits, nobody else's.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "median.hpp"
#include "module.hpp"
#include "slow_kernel.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <sys/mman.h>
#include <unistd.h>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

/// A process with a registration in memory whose faults nobody answers until told to: whoever would
/// write its bit waits.
class Hinderer {
public:
    explicit Hinderer(const Event& event, Userfault::Of kind = Userfault::Of::missing)
        : child_([=](Channel& channel) { return serve(channel, event, kind); }) {
        child_.channel().receive<char>();
    }

    /// Whether the kernel waits for its page.
    bool hinders() { return ask<bool>(Request::hinders); }
    void answer() { ask<bool>(Request::answer); }
    /// Hinders anew: answered before, the page is taken away again.
    void hinder_again() { ask<bool>(Request::hinder_again); }
    std::uint32_t word() { return ask<std::uint32_t>(Request::read); }
    /// Puts other memory in the page's place, so that it can end its registration, and closes its
    /// file. Returns whether it could.
    bool unregisters_in_other_memory() { return ask<bool>(Request::unregister); }
    void kill() { child_.kill(); }
    /// Passes on the file that answers.
    Descriptor userfault() {
        child_.channel().send(Request::pass);
        return child_.channel().receive_descriptor();
    }

private:
    enum class Request : char { hinders, answer, hinder_again, read, pass, unregister };

    static int serve(Channel& channel, const Event& event, Userfault::Of kind) {
        Mapping memory(1);
        DataFile file;
        file.index_of(memory.at(), 0, event.name());
        auto fault = std::make_unique<Userfault>(memory, kind);
        channel.send('r');
        // Until it is killed: among hundreds it may not be asked for long.
        for (Request request; read(channel.descriptor(), &request, 1) == 1;)
            switch (request) {
            case Request::hinders:
                channel.send(fault->is_waited_for());
                break;
            case Request::answer:
                fault->answer();
                channel.send(true);
                break;
            case Request::hinder_again:
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

    template <typename T>
    T ask(Request request) {
        child_.channel().send(request);
        return child_.channel().receive<T>();
    }

    Child child_;
};

/// A registered word in a page that is absent whenever it is asked to be.
class Absent {
public:
    explicit Absent(const Event& event) { file_.index_of(memory_.at(), 0, event.name()); }

    void take_away() {
        if (madvise(memory_.at(), page_size, MADV_DONTNEED) != 0)
            throw_errno("MADV_DONTNEED");
    }
    std::uint32_t word() const { return *memory_.at<Word>(); }

private:
    Mapping memory_{1};
    DataFile file_;
};

constexpr auto kinds = {Userfault::Of::missing, Userfault::Of::writing};

} // namespace

TEST_CASE("A program that hangs delays enabling its event once, and nobody's bits but its own") {
    const Userfault::Of kind = GENERATE(values(kinds));
    CAPTURE(kind == Userfault::Of::missing);
    const Event event(unique_name("hangs"));
    Word word{0};
    Absent absent(event);
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    constexpr unsigned often = 60;
    const auto unhindered = median_change(event, often);
    Hinderer hinderer(event, kind);
    CHECK_FALSE(hinderer.hinders());

    absent.take_away();
    own_page(word);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    CHECK(at_once([&] { return absent.word() == 1; }));
    CHECK(at_once([&] { return hinderer.hinders(); }));

    // Were it waited for each time, a change would take 200 milliseconds more.
    REQUIRE(event.disable() == succeeds(1));
    CHECK(median_change(event, often) < unhindered + 100ms);
    REQUIRE(event.enable() == succeeds(1));
    CHECK(word == 1);
    CHECK(absent.word() == 1);
    CHECK(hinderer.hinders());

    hinderer.answer();
    CHECK(eventually([&] { return hinderer.word() == 1; }));
    REQUIRE(event.disable() == succeeds(1));
    CHECK(at_once([&] { return hinderer.word() == 0; }));
    CHECK(word == 0);
}

TEST_CASE("A program that answers a moment too late each time delays few changes") {
    constexpr unsigned rounds = 30;
    const Event event(unique_name("late"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    const auto unhindered = median_change(event, rounds);
    Hinderer hinderer(event);
    own_page(word);
    // Were it waited for each time, enabling would take 200 milliseconds more.
    std::vector<Clock::duration> taken;
    for (unsigned round = 0; round < rounds; round++) {
        const auto start = Clock::now();
        REQUIRE(event.enable() == succeeds(1));
        taken.push_back(Clock::now() - start);
        CHECK(word == 1);
        REQUIRE(eventually([&] { return hinderer.hinders(); }));
        hinderer.answer();
        REQUIRE(eventually([&] { return hinderer.word() == 1; }));
        REQUIRE(event.disable() == succeeds(1));
        CHECK(word == 0);
        REQUIRE(eventually([&] { return hinderer.word() == 0; }));
        hinderer.hinder_again();
    }
    CHECK(median(taken) < unhindered + 100ms);
}

TEST_CASE("Three hundred programs that hang do not keep the bits from others") {
    const unsigned count = fewer(300);
    const Event hindered(unique_name("hindered")), free(unique_name("free"));
    Absent absent(free);
    std::vector<std::unique_ptr<Hinderer>> hinderers;
    for (unsigned i = 0; i < count; i++)
        hinderers.push_back(std::make_unique<Hinderer>(hindered));

    const Enabled hinders{hindered};
    CHECK(eventually([&] {
        return std::ranges::all_of(hinderers, [](auto& hinderer) { return hinderer->hinders(); });
    }));
    absent.take_away();
    const Enabled enabled{free};
    CHECK(at_once([&] { return absent.word() == 1; }));
}

TEST_CASE("Nobody else waits while a change of state waits for a program") {
    const unsigned rounds = fewer(10, 4);
    const auto end = Clock::now() + patience;
    const Event event(unique_name("waited_for")), other(unique_name("other"));
    Absent absent(other);
    Word word{0};
    DataFile file;
    unsigned meanwhile = 0;
    // Two by two, as the event is disabled in every second.
    const auto go_on = [&](unsigned round) {
        return round < rounds || round % 2 || (meanwhile == 0 && Clock::now() < end);
    };
    for (unsigned round = 0; go_on(round); round++) {
        CAPTURE(round);
        // One that nobody has waited for in vain yet.
        Hinderer hinderer(event);
        std::atomic<bool> returned{false};
        std::jthread change([&] {
            expect(round % 2 ? event.disable() : event.enable(), "change");
            returned = true;
        });
        REQUIRE(eventually([&] { return hinderer.hinders(); }));
        // Each of these takes event_mutex.
        CHECK(file.register_event(&word, 0, event.name()) == succeeds());
        CHECK(file.unregister(&word, 0) == succeeds());
        meanwhile += !returned;
        {
            const Instance instance;
            CHECK(exists(instance.path("trace")));
        }
        // Whoever changes something else meanwhile is not done until his own bits are written.
        absent.take_away();
        REQUIRE(other.enable() == succeeds(1));
        CHECK(at_once([&] { return absent.word() == 1; }));
        REQUIRE(other.disable() == succeeds(1));
        CHECK(at_once([&] { return absent.word() == 0; }));
        CHECK(hinderer.hinders());
        change.join();
        CHECK(hinderer.hinders());
        hinderer.answer();
        CHECK(eventually([&] { return hinderer.word() == (round % 2 ? 0 : 1); }));
    }
    CHECK(meanwhile > 0);
}

TEST_CASE("A program that hangs has one worker, however many of its bits change") {
    const Event event(unique_name("one")), other(unique_name("another"));
    // Both in one address space, with a page each.
    Mapping first(1), second(1);
    DataFile file;
    REQUIRE(file.register_event(first.at(), 0, event.name()) == succeeds());
    REQUIRE(file.register_event(second.at(), 0, other.name()) == succeeds());
    {
        Userfault one(first), two(second);
        for (int round = 0; round < 10; round++) {
            REQUIRE(event.enable() == succeeds(1));
            REQUIRE(other.enable() == succeeds(1));
            CHECK(at_once([&] { return one.is_waited_for() + two.is_waited_for() == 1; }));
            REQUIRE(event.disable() == succeeds(1));
            REQUIRE(other.disable() == succeeds(1));
        }
        REQUIRE(other.enable() == succeeds(1));
        // Whichever it waits for, the other one comes next.
        const bool waits_for_one = one.is_waited_for();
        (waits_for_one ? one : two).answer();
        CHECK(eventually([&] { return (waits_for_one ? two : one).is_waited_for(); }));
    }
    CHECK(eventually([&] { return *second.at<Word>() == 1; }));
    CHECK(*first.at<Word>() == 0);
    REQUIRE(other.disable() == succeeds(1));
}

TEST_CASE("A program that hangs can be killed, and leaves nothing behind") {
    const Event event(unique_name("killed"));
    Hinderer hinderer(event);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(at_once([&] { return hinderer.hinders(); }));
    {
        // Whoever else has the file keeps the kernel waiting for memory that nobody has any more.
        const bool passed_on = GENERATE(false, true);
        CAPTURE(passed_on);
        const Descriptor userfault = passed_on ? hinderer.userfault() : Descriptor();
        hinderer.kill();
        CHECK(event.exists());
    }
    REQUIRE(event.disable() == succeeds(1));
    CHECK(event.goes());
}

TEST_CASE("The module stays as long as the kernel waits for a program, even one that was killed") {
    module::Loaded loaded;
    const Event event(unique_name("stays"));
    {
        Hinderer hinderer(event);
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(at_once([&] { return hinderer.hinders(); }));
        REQUIRE(event.disable() == succeeds(1));
        const Descriptor userfault = hinderer.userfault();
        hinderer.kill();
        for (int round = 0; round < 100; round++)
            if (module::unload().ok())
                FAIL("unloaded while a worker waits, in round " << round);
        CHECK(Userfault::is_waited_for(userfault));
    }
    CHECK(eventually([] { return module::unload().ok(); }));
    CHECK(module::load() == succeeds());
}

TEST_CASE("The module stays as long as the kernel waits for a program without registrations") {
    module::Loaded loaded;
    const Event event(unique_name("without"));
    {
        Hinderer hinderer(event);
        REQUIRE(event.enable() == succeeds(1));
        REQUIRE(at_once([&] { return hinderer.hinders(); }));
        REQUIRE(hinderer.unregisters_in_other_memory());
        REQUIRE(event.disable() == succeeds(1));
        CHECK(event.goes());
        for (int round = 0; round < 100; round++)
            if (module::unload().ok())
                FAIL("unloaded while a worker waits, in round " << round);
        CHECK(hinderer.hinders());
    }
    CHECK(eventually([] { return module::unload().ok(); }));
    CHECK(module::load() == succeeds());
}

namespace {

/// A child with two words in this order: whoever would write the first one waits, and the second
/// one it shares with the test. A second event tells when the kernel has nothing of it any more.
class Sharer {
public:
    Sharer(const Event& event, const Event& last)
        : child_([&](Channel& channel) { return serve(channel, event, last); }),
          userfault_(child_.channel().receive_descriptor()) {}

    bool hinders() const { return Userfault::is_waited_for(userfault_); }
    void answer() { userfault_.close(); }
    Word& shared() { return *second().at<Word>(); }

    void kill() { child_.kill(); }
    /// Has it begin another program, which stays. Returns whether it has.
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
        file.index_of(first().at(), 0, event.name());
        file.index_of(second().at(), 0, event.name());
        file.index_of(second().at(), 1, last.name());
        file.close();
        const Userfault fault(first());
        channel.send_descriptor(fault.descriptor());
        channel.receive<char>();
        dup2(channel.descriptor(), STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", "exec cat >/dev/null", nullptr);
        return errno;
    }

    /// Makes a page the same for the test and its child.
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

TEST_CASE(
    "What a program has shared stays as others leave it, once it has ended or begun another") {
    const Event event(unique_name("shared")), last(unique_name("last"));
    Sharer program(event, last);
    const bool execs = GENERATE(false, true), disables = GENERATE(false, true);
    CAPTURE(execs, disables);
    REQUIRE(event.enable() == succeeds(1));
    REQUIRE(eventually([&] { return program.hinders(); }));
    CHECK(program.shared() == 1);
    if (execs)
        REQUIRE(program.execute());
    else
        program.kill();

    // Neither who changes the state nor who has waited all the while writes to it.
    const std::uint32_t ours = disables ? 1 : 0;
    program.shared() = ours;
    if (disables)
        REQUIRE(event.disable() == succeeds(1));
    CHECK(program.shared() == ours);
    CHECK(program.hinders());
    program.answer();
    CHECK(last.goes());
    CHECK(program.shared() == ours);
    if (!disables)
        REQUIRE(event.disable() == succeeds(1));
    CHECK(event.goes());
}

TEST_CASE("REG and UNREG of a page that nobody brings can be killed") {
    const Event event(unique_name("in_ioctl"));
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const bool registers = GENERATE(false, true);
    CAPTURE(registers);
    auto& stage = *shared.at<std::atomic<int>>();
    Child child([&](Channel& channel) -> int {
        Mapping memory(1);
        DataFile file;
        if (!registers)
            file.index_of(memory.at(), 0, event.name());
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
    // Kept open, so that nothing but the signal ends the waiting.
    const Descriptor fault = child.channel().receive_descriptor();
    REQUIRE(eventually([&] { return Userfault::is_waited_for(fault); }));
    CHECK(event.exists());
    child.kill();
    CHECK(stage == 1);
    CHECK(event.goes());
}

TEST_CASE("Registering and unregistering in a loop does not hinder whoever enables the event") {
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
    // The first event that is enabled and the last one make tracing patch the kernel's code, which
    // takes an emulator with busy processors very long.
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
    own_page(word);
    unsigned wrong = 0;
    for (unsigned round = 0; round < fewer(200); round++) {
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
    // Registrations met both states.
    CHECK(counts.set > 0);
    CHECK(counts.cleared > 0);
}

TEST_CASE("A program is waited for, however long others have been waited for by then") {
    const Event event(unique_name("first")), other(unique_name("second"));
    Hinderer first(event), second(other);
    std::jthread change([&] { expect(event.enable(), "enable"); });
    REQUIRE(eventually([&] { return first.hinders(); }));
    // Half of the time after which the first one is given up.
    std::this_thread::sleep_for(100ms);
    const auto start = Clock::now();
    REQUIRE(other.enable() == succeeds(1));
    CHECK(Clock::now() - start > 150ms);
    change.join();
    REQUIRE(event.disable() == succeeds(1));
    REQUIRE(other.disable() == succeeds(1));
}
