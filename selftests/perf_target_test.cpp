// SPDX-License-Identifier: GPL-2.0-only
// perf events of single tasks: only the programs that they record have their enable bits set.
#include "catch.hpp"
#include "child.hpp"
#include "control_group.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "perf.hpp"
#include "program.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <list>
#include <memory>
#include <optional>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

using namespace selftest;

namespace {

perf_event_attr inheriting(const Event& event) {
    perf_event_attr attributes = perf_attributes(event);
    attributes.inherit = 1;
    return attributes;
}

/// Opens a perf event that records the programs of a control group of the hierarchy for perf.
Descriptor open_perf_of_group(perf_event_attr attributes, int group, int cpu) {
    const long file = syscall(SYS_perf_event_open, &attributes, group, cpu, -1,
                              PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
    if (file < 0)
        throw_errno("perf_event_open for a control group");
    return Descriptor(static_cast<int>(file));
}

/// Opens and closes perf events of a process in a loop, until that process has exited.
class Opening {
public:
    Opening(const perf_event_attr& attributes, pid_t pid)
        : thread_([this, attributes, pid] {
              try {
                  while (!stop_) {
                      const PerfEvent perf(attributes, pid);
                      opened_++;
                  }
              } catch (const std::system_error& error) {
                  unexpected_ = error.code().value() != ESRCH;
              }
          }) {}

    /// Returns how many were opened; 0 after an error.
    unsigned end() {
        stop_ = true;
        thread_.join();
        return unexpected_ ? 0 : opened_;
    }

private:
    std::atomic<bool> stop_{false};
    unsigned opened_ = 0;
    bool unexpected_ = false;
    std::thread thread_;
};

/// Closes two perf events of a program in either order.
void check_until_both_are_closed(Program& target, PerfEvent& first, PerfEvent& second) {
    const bool first_one = GENERATE(false, true);
    CAPTURE(first_one);
    (first_one ? first : second).close();
    CHECK(target.bit() == 1);
    (first_one ? second : first).close();
    CHECK(target.bit() == 0);
}

} // namespace

TEST_CASE("perf of one process sets the bit of that process, and writes to no other's memory") {
    Kept kept;
    Program target(kept.event), other(kept.event);
    REQUIRE(other.ask(Request::drop) == 0);
    for (int round = 0; round < 3; round++) {
        PerfEvent perf(perf_attributes(kept.event), target.pid());
        CHECK(target.bit() == 1);
        CHECK(kept.bit() == 0);
        CHECK(target.ask(Request::record) == 0);
        // A program that does not look at its bit is not recorded, and gets no error.
        CHECK(other.ask(Request::record) == 0);
        CHECK(perf.count() == 1);
        perf.close();
        CHECK(target.bit() == 0);
        CHECK(target.ask(Request::record) == EBADF);
    }
    CHECK(other.ask(Request::is_dropped) == 1);
    CHECK(other.bit() == 0);
}

TEST_CASE("perf of all processes writes to the memory of each") {
    // The test above could not fail if dropped pages stayed absent.
    Kept kept;
    Program other(kept.event);
    REQUIRE(other.ask(Request::drop) == 0);
    REQUIRE(other.ask(Request::is_dropped) == 1);
    const PerfEvent perf(perf_attributes(kept.event), -1, 0);
    CHECK(other.ask(Request::is_dropped) == 0);
    CHECK(other.bit() == 1);
}

TEST_CASE("Of the perf events of all tasks, only the first and the last one write the bits") {
    Kept kept;
    Program other(kept.event);
    std::optional<PerfEvent> first(std::in_place, perf_attributes(kept.event), -1, 0);
    CHECK(other.bit() == 1);
    REQUIRE(other.ask(Request::drop) == 0);
    REQUIRE(other.ask(Request::is_dropped) == 1);
    {
        const PerfEvent second(perf_attributes(kept.event), -1, 1);
        CHECK(other.ask(Request::is_dropped) == 1);
    }
    CHECK(other.ask(Request::is_dropped) == 1);
    first.reset();
    CHECK(other.bit() == 0);
}

TEST_CASE("A program that registers while perf records it gets the bit 1, others get 0") {
    Kept kept;
    Program target(kept.event, false), other(kept.event, false);
    const PerfEvent perf(perf_attributes(kept.event), target.pid());
    const Request way = GENERATE(Request::add, Request::add_in_thread);
    CAPTURE(static_cast<int>(way));
    CHECK(target.ask(way) == 0);
    CHECK(other.ask(way) == 0);
    CHECK(target.bit() == 1);
    CHECK(other.bit() == 0);
    CHECK(target.ask(Request::remove) == 0);
    CHECK(target.bit() == 0);
    CHECK(target.ask(way) == 0);
    CHECK(target.bit() == 1);
}

TEST_CASE("A bit stays 1 until the last perf event of any single process is closed") {
    Kept kept;
    Program target(kept.event), other(kept.event);
    PerfEvent first(perf_attributes(kept.event), target.pid());
    PerfEvent second(perf_attributes(kept.event), target.pid(), 0);
    PerfEvent of_other(perf_attributes(kept.event), other.pid());
    CHECK(target.bit() == 1);
    first.close();
    CHECK(target.bit() == 1);
    second.close();
    CHECK(other.bit() == 1);
    of_other.close();
    CHECK(target.bit() == 0);
    CHECK(other.bit() == 0);
    // What was recorded before is not any more.
    const PerfEvent again(perf_attributes(kept.event), other.pid());
    CHECK(target.bit() == 0);
}

TEST_CASE("perf of one process, perf of all and ftrace add up in any order") {
    Kept kept;
    Program target(kept.event), other(kept.event);
    const auto bits = [&] { return target.bit() + 2 * other.bit(); };
    Instance instance;
    for (const bool target_first : {false, true}) {
        CAPTURE(target_first);
        std::optional<PerfEvent> one, all;
        if (target_first)
            one.emplace(perf_attributes(kept.event), target.pid());
        REQUIRE(instance.enable(kept.event) == succeeds());
        CHECK(bits() == 3);
        all.emplace(perf_attributes(kept.event), -1, 0);
        if (!target_first)
            one.emplace(perf_attributes(kept.event), target.pid());
        REQUIRE(instance.disable(kept.event) == succeeds());
        CHECK(bits() == 3);
        all->close();
        CHECK(bits() == 1);
        one->close();
        CHECK(bits() == 0);
    }
}

TEST_CASE(
    "A program that registers while all are recorded keeps its bit when only perf of it is left") {
    Kept kept;
    Instance instance;
    REQUIRE(instance.enable(kept.event) == succeeds());
    Program target(kept.event, false);
    PerfEvent perf(inheriting(kept.event), target.pid());
    // A child of the target is no target itself.
    REQUIRE(target.ask(Request::pass_on) == 0);
    target.execute();
    REQUIRE(target.ask(Request::add) == 0);
    REQUIRE(instance.disable(kept.event) == succeeds());
    CHECK(target.bit() == 1);
    CHECK(target.ask(Request::record) == 0);
    CHECK(perf.count() == 1);
    perf.close();
    CHECK(target.bit() == 0);
}

TEST_CASE("A thread that is not the first one can be the target") {
    Kept kept;
    Program target(kept.event);
    const pid_t thread = target.ask(Request::start_thread);
    PerfEvent perf(perf_attributes(kept.event), thread);
    CHECK(target.bit() == 1);
    Program late(kept.event, false);
    PerfEvent perf_of_late(perf_attributes(kept.event), late.ask(Request::start_thread));
    CHECK(late.ask(Request::add) == 0);
    CHECK(late.bit() == 1);
    perf.close();
    perf_of_late.close();
    CHECK(target.bit() == 0);
    CHECK(late.bit() == 0);
}

TEST_CASE("A program registers with 1 if any of its threads has inherited, although the target has "
          "ended") {
    Kept kept;
    Program target(kept.event, false), other(kept.event, false);
    perf_event_attr attributes = inheriting(kept.event);
    const PerfEvent perf(attributes, target.ask(Request::start_thread));
    REQUIRE(target.ask(Request::replace_thread) == 0);
    CHECK(target.ask(Request::add) == 0);
    CHECK(target.bit() == 1);
    CHECK(other.ask(Request::add) == 0);
    CHECK(other.bit() == 0);
}

TEST_CASE("Two processes that share their memory have the bit 1 if either is the target") {
    Kept kept;
    Program target(kept.event, false);
    const bool before = GENERATE(false, true);
    CAPTURE(before);
    if (before)
        REQUIRE(target.ask(Request::add) == 0);
    PerfEvent perf(perf_attributes(kept.event), target.ask(Request::lend));
    if (!before)
        REQUIRE(target.ask(Request::add) == 0);
    CHECK(target.bit() == 1);
    CHECK(kept.bit() == 0);
    perf.close();
    CHECK(target.bit() == 0);
    target.end();
}

TEST_CASE(
    "A program that shared its memory when it registered gets the bit 1 from perf of itself") {
    // While there is a target of any event, which programs share memory cannot be told.
    Kept kept, other;
    Program target(kept.event, false), recorded(other.event);
    const PerfEvent perf_of_other(perf_attributes(other.event), recorded.pid());
    REQUIRE(target.ask(Request::lend) > 0);
    REQUIRE(target.ask(Request::add) == 0);
    CHECK(target.bit() == 0);
    PerfEvent perf(perf_attributes(kept.event), target.pid());
    CHECK(target.bit() == 1);
    perf.close();
    CHECK(target.bit() == 0);
    target.end();
}

TEST_CASE("A child inherits perf events of very many events", "[long]") {
    constexpr int count = 200;
    Child target([](Channel& channel) {
        DataFile file;
        std::vector<Word> words(count);
        for (int i = 0; i < count; i++)
            expect(file.register_event(&words[i], 0, "many_" + std::to_string(i)), "register");
        channel.send(0);
        channel.receive<int>();
        channel.send(in_child([&] {
            int set = 0;
            for (const Word& word : words)
                set += word == 1;
            return set;
        }));
        channel.receive<int>();
        return 0;
    });
    target.channel().receive<int>();
    std::list<PerfEvent> perf;
    for (int i = 0; i < count; i++)
        perf.emplace_back(inheriting(Event("many_" + std::to_string(i))), target.pid());
    CHECK(target.channel().ask<int>(0) == count);
    perf.clear();
    target.channel().send(0);
    CHECK(target.wait() == 0);
}

TEST_CASE("A program that is recorded for two targets has the bit 1 until both are closed") {
    Kept kept;
    Program target(kept.event, false);
    PerfEvent first(inheriting(kept.event), target.pid());
    // The child inherits from its parent, and is a target itself.
    REQUIRE(target.ask(Request::pass_on) == 0);
    PerfEvent second(inheriting(kept.event), target.ask(Request::start_thread));
    REQUIRE(target.ask(Request::add) == 0);
    check_until_both_are_closed(target, first, second);
}

TEST_CASE(
    "Two threads of a program can be targets: the bit is 1 until both perf events are closed") {
    Kept kept;
    Program target(kept.event);
    PerfEvent first(perf_attributes(kept.event), target.pid());
    PerfEvent second(perf_attributes(kept.event), target.ask(Request::start_thread));
    check_until_both_are_closed(target, first, second);
}

TEST_CASE("A child has the bit 1 only if it inherits the perf event of its parent") {
    Kept kept;
    Program target(kept.event);
    {
        const PerfEvent perf(perf_attributes(kept.event), target.pid());
        CHECK(target.ask(Request::fork) == 0);
        CHECK(target.bit() == 1);
    }
    const PerfEvent perf(inheriting(kept.event), target.pid());
    CHECK(target.ask(Request::fork) == 1);
    CHECK(target.ask(Request::pass_on) == 0);
    CHECK(target.bit() == 1);
    CHECK(target.ask(Request::fork) == 1);
    CHECK(target.ask(Request::record) == 0);
    CHECK(perf.count() == 1);
}

TEST_CASE(
    "The bits of children are cleared when perf closes, also those of a child without a parent") {
    Kept kept;
    std::list<Program> programs;
    programs.emplace_back(kept.event);
    Program& target = programs.back();
    PerfEvent perf(inheriting(kept.event), target.pid());
    for (int generation = 0; generation < 5; generation++)
        REQUIRE(target.ask(Request::pass_on) == 0);
    CHECK(target.bit() == 1);
    perf.close();
    CHECK(target.bit() == 0);
}

TEST_CASE("Each generation of a program is recorded, although the one before has ended") {
    // On one CPU, the kernel exchanges the perf events of parent and child.
    Kept kept;
    Program target(kept.event);
    const PerfEvent perf(inheriting(kept.event), target.pid());
    const unsigned generations = 50;
    unsigned seen = 0;
    for (unsigned i = 0; i < generations; i++) {
        target.ask(Request::pass_on);
        seen += target.bit() == 1 && target.ask(Request::record) == 0;
    }
    CHECK(seen == generations);
    CHECK(perf.count() == generations);
    // After exec, only what the task has inherited tells.
    target.execute();
    REQUIRE(target.ask(Request::add_in_thread) == 0);
    CHECK(target.bit() == 1);
}

TEST_CASE("perf of a program that is yet to be executed, as perf record PROGRAM does it") {
    Kept kept;
    Program target(kept.event, false);
    perf_event_attr attributes = inheriting(kept.event);
    attributes.disabled = 1;
    attributes.enable_on_exec = 1;
    PerfEvent perf(attributes, target.pid());
    target.execute();
    CHECK(target.ask(Request::add) == 0);
    CHECK(target.bit() == 1);
    CHECK(target.ask(Request::record) == 0);
    CHECK(target.ask(Request::fork) == 1);
    CHECK(perf.count() == 1);
    // The new program has nothing that a later one would get.
    target.execute();
    perf.close();
    CHECK(target.ask(Request::add) == 0);
    CHECK(target.bit() == 0);
}

TEST_CASE("A target that has exited leaves nothing behind") {
    Kept kept;
    auto target = std::make_unique<Program>(kept.event);
    PerfEvent perf(inheriting(kept.event), target->pid());
    target->end();
    Program other(kept.event);
    CHECK(other.bit() == 0);
    perf.close();
    CHECK(kept.status().empty());
}

TEST_CASE("perf of a control group sets the bits of all programs") {
    Kept kept;
    const ControlGroup group("pids");
    Program other(kept.event);
    {
        const Descriptor directory = Descriptor::open(group.path(), O_RDONLY);
        const Descriptor perf =
            open_perf_of_group(perf_attributes(kept.event), directory.number(), 0);
        CHECK(other.bit() == 1);
        CHECK(kept.bit() == 1);
    }
    CHECK(other.bit() == 0);
    CHECK(kept.bit() == 0);
}

TEST_CASE("A fork that fails after the perf events were inherited leaves nothing behind") {
    Kept kept;
    const ControlGroup group("pids");
    Program target(kept.event);
    PerfEvent perf(inheriting(kept.event), target.pid());
    group.set("cgroup.procs", std::to_string(target.pid()));
    group.set("pids.max", "1");
    // in_child() throws, which ends the program.
    CHECK_THROWS(target.ask(Request::fork));
    perf.close();
}

TEST_CASE("A word that programs share is 1 while perf records one of them") {
    Kept kept;
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const bool target_first = GENERATE(false, true);
    CAPTURE(target_first);
    std::optional<Program> target, other;
    if (!target_first)
        other.emplace(kept.event, true, shared.at());
    target.emplace(kept.event, true, shared.at());
    std::optional<PerfEvent> perf;
    perf.emplace(perf_attributes(kept.event), target->pid());
    CHECK(target->bit() == 1);
    // Its registration, and an update of all its bits, leave the word as it is.
    if (target_first)
        other.emplace(kept.event, true, shared.at());
    CHECK(target->bit() == 1);
    {
        const PerfEvent all(perf_attributes(kept.event), -1, 0);
        CHECK(other->bit() == 1);
    }
    CHECK(other->bit() == 1);
    CHECK(kept.bit() == 0);
    SECTION("The target is the last one that is recorded") {
        perf->close();
        CHECK(target->bit() == 0);
    }
    SECTION("The target exits first") {
        target->end();
        perf->close();
        CHECK(other->bit() == 0);
    }
    SECTION("Another program without shared memory is still recorded") {
        Program apart(kept.event);
        PerfEvent of_apart(perf_attributes(kept.event), apart.pid());
        perf->close();
        of_apart.close();
        CHECK(target->bit() == 0);
        CHECK(apart.bit() == 0);
    }
}

TEST_CASE("A shared word is cleared although its target does not have it any more") {
    Kept kept;
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    Program other(kept.event, true, shared.at()), target(kept.event, true, shared.at());
    PerfEvent perf(perf_attributes(kept.event), target.pid());
    CHECK(other.bit() == 1);
    const bool exits = GENERATE(false, true);
    CAPTURE(exits);
    if (exits)
        target.end();
    else
        target.execute();
    perf.close();
    CHECK(other.bit() == 0);
}

TEST_CASE("A shared word of a program that is no target is cleared when perf closes") {
    Kept kept;
    Program target(kept.event);
    PerfEvent perf(perf_attributes(kept.event), target.pid());
    const Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    Program other(kept.event, true, shared.at());
    CHECK(other.bit() == 1);
    perf.close();
    CHECK(other.bit() == 0);
}

TEST_CASE("A user cannot change the bits of a process that the user may not record") {
    Setting paranoid("/proc/sys/kernel/perf_event_paranoid");
    paranoid.set("-1");
    Kept kept;
    Program target(kept.event);
    REQUIRE(target.ask(Request::drop) == 0);
    const auto error_as_user = [&](pid_t pid) {
        perf_event_attr attributes = perf_attributes(kept.event);
        attributes.exclude_kernel = 1;
        return in_child([&] {
            become_user(unprivileged_uid);
            return Outcome::of(syscall(SYS_perf_event_open, &attributes, pid, -1, -1, 0)).error();
        });
    };
    CHECK(error_as_user(target.pid()) == EACCES);
    CHECK(target.ask(Request::is_dropped) == 1);
    CHECK(target.bit() == 0);
    CHECK(error_as_user(0) == 0);
}

TEST_CASE("A program that registers while perf opens and closes never keeps a wrong bit",
          "[race]") {
    Kept kept;
    Program target(kept.event, false);
    Opening opening(perf_attributes(kept.event), target.pid());
    unsigned wrong = 0;
    for (Rounds rounds(100, 2000, std::chrono::seconds(5)); rounds.next();) {
        wrong += target.ask(Request::add) != 0;
        wrong += target.ask(Request::remove) != 0;
        wrong += target.bit() != 0;
    }
    wrong += target.ask(Request::add) != 0;
    const unsigned opened = opening.end();
    CHECK(wrong == 0);
    CHECK(opened > 10);
    CHECK(target.bit() == 0);
    const PerfEvent perf(perf_attributes(kept.event), target.pid());
    CHECK(target.bit() == 1);
}

TEST_CASE("Children that are forked while perf opens and closes end with the right bit",
          "[race][long]") {
    Kept kept;
    Program target(kept.event);
    const bool inherit = GENERATE(false, true);
    CAPTURE(inherit);
    Opening opening(inherit ? inheriting(kept.event) : perf_attributes(kept.event), target.pid());
    unsigned set_without_perf = 0;
    for (Rounds rounds(50, 300, std::chrono::seconds(10)); rounds.next();) {
        const int bit = target.ask(Request::fork);
        // Such a child inherits nothing.
        set_without_perf += !inherit && bit != 0;
    }
    // The last child stays.
    REQUIRE(target.ask(Request::pass_on) == 0);
    const unsigned opened = opening.end();
    CHECK(set_without_perf == 0);
    CHECK(opened > 10);
    CHECK(target.bit() == 0);
}

TEST_CASE("A program that perf records by one event also has the bit of one that another has") {
    Kept kept, other;
    Program recorded(kept.event, false), target(kept.event);
    const PerfEvent of_recorded(perf_attributes(other.event), recorded.pid());
    REQUIRE(recorded.ask(Request::add) == 0);
    CHECK(recorded.bit() == 0);
    PerfEvent of_target(perf_attributes(kept.event), target.pid());
    REQUIRE(recorded.ask(Request::remove) == 0);
    REQUIRE(recorded.ask(Request::add) == 0);
    CHECK(recorded.bit() == 1);
    of_target.close();
    CHECK(recorded.bit() == 0);
    CHECK(target.bit() == 0);
}
