// SPDX-License-Identifier: GPL-2.0-only
// What a program can do to the events of others: the table "Permissions and trust" of the user
// guide, a test for each cell. And hostile programs of one group, which try to reach, to exhaust or
// to slow down another one.
#include "as_user.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "control_group.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "descriptor.hpp"
#include "device.hpp"
#include "group.hpp"
#include "mapping.hpp"
#include "rule.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <linux/perf_event.h>
#include <optional>
#include <sched.h>
#include <set>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>

using namespace selftest;
using namespace std::chrono_literals;

namespace {

constexpr uid_t owner = 1001, neighbour = 1002, stranger = 1003;

/// The errno of opening a file, or 0.
int error_of_open(const std::string& path, int flags = O_RDWR) {
    const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
    return file.number() < 0 ? errno : 0;
}

/// The errno of counting an event in oneself by its number, or 0.
int error_of_perf(int event) {
    perf_event_attr attr{};
    attr.type = PERF_TYPE_TRACEPOINT;
    attr.size = sizeof(attr);
    attr.config = static_cast<std::uint64_t>(event);
    attr.exclude_kernel = 1;
    const Descriptor counter(
        static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    return counter.number() < 0 ? errno : 0;
}

/// An event of a group that a process of `owner` has registered, and keeps.
class Victim {
public:
    explicit Victim(const Group& group)
        : event_(group.event(unique_name("victim"))),
          process_([this, &group](Channel& channel) -> int {
              become_user(owner);
              Word word{0};
              DataFile file = group.open();
              file.must_register(&word, 0, event_.name() + " u32 a");
              channel.send('r');
              for (;;)
                  channel.send(channel.receive<char>() && word == 1);
          }) {
        process_.channel().receive<char>();
    }

    const Event& event() const { return event_; }
    /// Returns whether the bit is set.
    bool enabled() { return process_.channel().ask<bool>('?'); }
    pid_t pid() const { return process_.pid(); }

private:
    Event event_;
    Child process_;
};

/// What a process can do to an event of another process. Errors; 0 is a success.
struct Tried {
    int open = -1;         ///< the device that the process has
    int same_fields = -1;  ///< register the name with the same fields
    int other_fields = -1; ///< register the name with other fields
    int remove = -1;       ///< DEL
    bool sees = false;     ///< read() of the device shows the event
    bool sees_bit = false; ///< an own registration of the name shows whether the event is enabled
    int tracefs = -1;      ///< open user_events_data
    int dynamic = -1;      ///< open dynamic_events
    int groups = -1;       ///< open user_events_groups
    int perf = -1;         ///< count the event by its number
    bool operator==(const Tried&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Tried& tried) {
    return out << "open " << tried.open << " same " << tried.same_fields << " other "
               << tried.other_fields << " remove " << tried.remove << " sees " << tried.sees
               << " bit " << tried.sees_bit << " tracefs " << tried.tracefs << " dynamic "
               << tried.dynamic << " groups " << tried.groups << " perf " << tried.perf;
}

Tried try_with(const std::string& device, const Event& victim, int number) {
    Tried tried;
    tried.tracefs = error_of_open("/sys/kernel/tracing/user_events_data");
    tried.dynamic = error_of_open("/sys/kernel/tracing/dynamic_events");
    tried.groups = error_of_open("/sys/kernel/tracing/user_events_groups");
    tried.perf = error_of_perf(number);
    tried.open = error_of_open(device);
    if (tried.open)
        return tried;
    Word word{0};
    {
        DataFile registering(Descriptor::open(device, O_RDWR));
        tried.other_fields = registering.register_event(&word, 1, victim.name() + " u64 b").error();
    }
    tried.remove = DataFile(Descriptor::open(device, O_RDWR)).delete_event(victim.name()).error();
    tried.sees = has_line(read_text(device), victim.name() + " # Used by ftrace");
    {
        DataFile registering(Descriptor::open(device, O_RDWR));
        tried.same_fields = registering.register_event(&word, 0, victim.name() + " u32 a").error();
        tried.sees_bit = word & 1;
    }
    return tried;
}

/// Runs try_with() as another user, in a user namespace of its own if asked.
Tried try_as(uid_t user, const std::string& device, const Event& victim,
             bool own_namespace = false) {
    const int number = victim.id();
    Child child([&](Channel& channel) {
        become_user(user);
        if (own_namespace && unshare(CLONE_NEWUSER) != 0)
            return 1;
        channel.send(try_with(device, victim, number));
        return 0;
    });
    const Tried tried = child.channel().receive<Tried>();
    if (child.wait() != 0)
        throw std::runtime_error("cannot try");
    return tried;
}

} // namespace

TEST_CASE("Each cell of the user guide's table of trust holds", "[long]") {
    Setting paranoid("/proc/sys/kernel/perf_event_paranoid");
    paranoid.set("2");
    const Group group(" mode=0666"), other(" mode=0666"), closed;
    Victim victim(group);
    const Enabled enabled{victim.event()};
    REQUIRE(victim.enabled());
    const Event& event = victim.event();
    // Only root enters tracefs, and perf needs a capability.
    const Tried outside{.tracefs = EACCES, .dynamic = EACCES, .groups = EACCES, .perf = EPERM};
    const auto with = [&](Tried tried) {
        tried.tracefs = tried.dynamic = tried.groups = EACCES;
        tried.perf = EPERM;
        return tried;
    };
    const auto shares = [&](int remove) {
        return with({.open = 0,
                     .same_fields = 0,
                     .other_fields = EADDRINUSE,
                     .remove = remove,
                     .sees = true,
                     .sees_bit = true});
    };
    // The event is in use; for its owner, this is all that keeps it from being deleted.
    CHECK(try_as(owner, group.device(), event) == shares(EBUSY));
    CHECK(try_as(neighbour, group.device(), event) == shares(EPERM));
    // Root of a user namespace has no capability outside.
    CHECK(try_as(neighbour, group.device(), event, true) == shares(EPERM));
    const Tried apart = with({.open = 0,
                              .same_fields = 0,
                              .other_fields = 0,
                              .remove = ENOENT,
                              .sees = false,
                              .sees_bit = false});
    CHECK(try_as(stranger, other.device(), event) == apart);
    // Also a process of the same user.
    CHECK(try_as(owner, other.device(), event) == apart);
    CHECK(try_as(stranger, other.device(), event, true) == apart);
    Tried none = outside;
    none.open = EACCES;
    CHECK(try_as(stranger, closed.device(), event) == none);
    CHECK(try_as(owner, device, event) == none);
    CHECK(victim.enabled());
}

TEST_CASE("A program of one group cannot delete events of another, also persistent ones as root") {
    const Group group, other;
    const std::string name = unique_name("persists");
    Word word{0};
    {
        DataFile file = group.open();
        file.must_register(&word, 0, name, 4, USER_EVENT_REG_PERSIST);
        file.must_register(&word, 1, name, 4, USER_EVENT_REG_PERSIST | USER_EVENT_REG_MULTI_FORMAT);
    }
    DataFile file = other.open();
    for (const std::string& text :
         {name, name + ".0", group.system() + "/" + name, "../" + group.name() + "/" + name,
          group.system() + ":" + name}) {
        CAPTURE(text);
        CHECK(file.delete_event(text) == fails(ENOENT));
    }
    CHECK(DataFile().delete_event(name) == fails(ENOENT));
    CHECK(file.register_event(&word, 2, group.system() + "/" + name) == fails(EINVAL));
    CHECK(group.event(name).exists());
    CHECK(group.open().delete_event(name) == succeeds());
}

TEST_CASE(
    "A process of one group sees nothing of another in /proc, unless it may trace the process") {
    const Group group(" mode=0666"), other(" mode=0666");
    Victim victim(group);
    const std::string proc = "/proc/" + std::to_string(victim.pid());
    std::string file;
    for (const auto& entry : std::filesystem::directory_iterator(proc + "/fd"))
        if (std::filesystem::read_symlink(entry.path()) == group.device())
            file = entry.path().filename();
    REQUIRE_FALSE(file.empty());
    CHECK(read_text(proc + "/fdinfo/" + file).find(group.system() + "/" + victim.event().name()) !=
          std::string::npos);
    CHECK(in_child([&] {
              become_user(stranger);
              return error_of_open(proc + "/fdinfo/" + file, O_RDONLY) == EACCES &&
                             error_of_open(proc + "/fd/" + file) == EACCES
                         ? 0
                         : 1;
          }) == 0);
    // What a process has itself is of its group.
    Word word{0};
    DataFile own = other.open();
    own.must_register(&word, 0, victim.event().name());
    const std::string text = read_text("/proc/self/fdinfo/" + std::to_string(own.descriptor()));
    CHECK(text.find(other.system() + "/" + victim.event().name()) != std::string::npos);
    CHECK(text.find(group.system() + "/") == std::string::npos);
}

TEST_CASE("A file that is passed to a process of another group gives no way to more events") {
    const Group group(" mode=0666"), other(" mode=0666");
    Victim victim(group);
    Child child([&](Channel& channel) {
        become_user(stranger);
        const Descriptor passed = channel.receive_descriptor();
        DataFile own = other.open();
        // Not through an own file, and not in the other direction.
        if (own.share_indexes(passed.number()) != fails(EXDEV))
            return 1;
        DataFile given(Descriptor(dup(passed.number())));
        if (given.share_indexes(own) != fails(EXDEV))
            return 2;
        // What is registered through the own file stays in the own group.
        Word word{0};
        own.must_register(&word, 0, victim.event().name() + " u32 a");
        if (given.record(0, Payload().add(1u)) != fails(ENOENT))
            return 3;
        // The file itself does what its mode permits.
        given.must_register(&word, 1, victim.event().name() + " u32 a");
        return given.delete_event(victim.event().name()) == fails(EPERM) ? 0 : 4;
    });
    child.channel().send_descriptor(group.open().descriptor());
    CHECK(child.wait() == 0);
}

namespace {

/// A process that tries to reach others: in a group, and perhaps in a user namespace of its own.
struct Intruder {
    const Group& group;
    uid_t user = stranger;
    bool own_namespace = false;

    void become() const {
        become_user(user);
        if (own_namespace && unshare(CLONE_NEWUSER) != 0)
            throw_errno("unshare");
    }
};

/// Registers events in a child until that fails. The child keeps them.
class Exhausting {
public:
    Exhausting(const Intruder& intruder, unsigned most, bool one_event)
        : process_([&intruder, most, one_event](Channel& channel) {
              intruder.become();
              const std::string topic = unique_name("exhausting");
              Mapping memory(1 + std::size_t{4} * most / page_size);
              DataFile file = intruder.group.open();
              int error = 0;
              for (unsigned i = 0; i < most && !error; i++)
                  error = file.register_event(memory.at<Word>(std::size_t{4} * i), 0,
                                              one_event ? topic : topic + std::to_string(i))
                              .error();
              channel.send(error);
              channel.receive<char>();
              return 0;
          }),
          error_(process_.channel().receive<int>()) {}

    /// The errno of the last registration.
    int error() const { return error_; }

private:
    Child process_;
    int error_;
};

} // namespace

TEST_CASE("A program that uses up all limits of its group takes nothing from another group") {
    const Group group(" mode=0666 max=50 max_registrations=60"), other(" mode=0666");
    const Exhausting events({group}, 51, false);
    CHECK(events.error() == EMFILE);
    const Group few(" mode=0666 max_registrations=100");
    const Exhausting registrations({few}, 101, true);
    CHECK(registrations.error() == EMFILE);
    // Another process of the same user.
    const Exhausting neighbours({other}, 200, false);
    CHECK(neighbours.error() == 0);
    CHECK(in_child([&] {
              become_user(stranger);
              Word word{0};
              return other.open().register_event(&word, 0, unique_name("free")).error();
          }) == 0);
}

TEST_CASE(
    "A program that fills its memory cgroup with events takes nothing from its group, nor from "
    "others",
    "[long]") {
    const Group group(" mode=0666"), other(" mode=0666");
    Victim beside(group), apart(other);
    const ControlGroup memory("memory");
    memory.set("memory.max", std::to_string(fewer_if_debug(4 << 20, 1 << 20)));
    {
        Child filling([&](Channel& channel) -> int {
            memory.enter();
            become_user(stranger);
            Mapping words(9);
            DataFile file = group.open();
            std::string fields;
            for (char name = 'a'; name <= 'z'; name++)
                fields.append(" u32 ").append(1, name).append(";");
            channel.send('b');
            // The limit of events is 8192.
            for (unsigned i = 0;; i++) {
                const Outcome outcome = file.register_event(words.at<Word>(std::size_t{4} * i), 0,
                                                            unique_name("filling") + fields);
                if (!outcome.ok())
                    return outcome.error();
            }
        });
        REQUIRE(filling.channel().receive<char>() == 'b');
        // The kernel kills the program, or refuses it the memory.
        const int ended = filling.wait();
        CAPTURE(ended);
        CHECK((ended == -SIGKILL || ended == ENOMEM));
    }
    for (Victim* each : {&beside, &apart}) {
        CHECK_FALSE(each->enabled());
        const Enabled enabled{each->event()};
        CHECK(eventually([&] { return each->enabled(); }));
    }
    for (const Group* each : {&group, &other}) {
        Word word{0};
        CHECK(each->open().register_event(&word, 0, unique_name("free")) == succeeds());
        // The events of the program are gone.
        CHECK(eventually([&] { return each->status().ends_with("\n\nActive: 1\nBusy: 0\n"); }));
    }
}

TEST_CASE("Groups share the maximum of a rule for several groups, not that of a rule for one") {
    const Group group, other;
    const std::string topic = unique_name("filled");
    Instance both, one;
    const Rule shared("user_events_*:" + topic + "* max=2 instance=" + both.name()),
        own(topic + "* group=" + other.name() + " max=2 instance=" + one.name());
    Mapping memory(1);
    DataFile filling = group.open(), file = other.open();
    for (unsigned i = 0; i < 3; i++)
        filling.must_register(memory.at<Word>() + i, 0, topic + std::to_string(i));
    file.must_register(memory.at<Word>() + 3, 0, topic);
    const Event event = other.event(topic);
    CHECK(read_text(both.path(event, "enable")).starts_with("0"));
    CHECK(read_text(one.path(event, "enable")).starts_with("1"));
}

TEST_CASE("Only processes of its group keep an event of another process in use", "[long]") {
    const Group group(" mode=0666"), other(" mode=0666");
    const auto is_kept_by = [&](const Intruder& intruder) {
        const Event event = group.event(unique_name("kept"));
        // Forked first, so that it inherits nothing.
        Child keeper([&](Channel& channel) {
            intruder.become();
            Word word{0};
            DataFile file = intruder.group.open();
            channel.receive<char>();
            file.must_register(&word, 0, event.name() + " u32 a");
            channel.send('r');
            channel.receive<char>();
            return 0;
        });
        Word word{0};
        DataFile file = group.open();
        file.must_register(&word, 0, event.name() + " u32 a");
        keeper.channel().ask<char>('g');
        // The last user of an event removes it at once.
        REQUIRE(file.unregister(&word, 0) == succeeds());
        file.close();
        const bool is_kept = event.exists();
        keeper.channel().send('e');
        CHECK(keeper.wait() == 0);
        CHECK(event.wait_removed());
        return is_kept;
    };
    CHECK(is_kept_by({group, owner}));
    CHECK(is_kept_by({group, neighbour}));
    CHECK(is_kept_by({group, neighbour, true}));
    CHECK_FALSE(is_kept_by({other, owner}));
    CHECK_FALSE(is_kept_by({other, stranger}));
    CHECK_FALSE(is_kept_by({other, stranger, true}));
}

TEST_CASE("Only processes of its group use up the limits that another process needs", "[long]") {
    const auto is_hindered_by = [](bool same_group, uid_t user, bool own_namespace) {
        const Group group(" mode=0666 max=3"), other(" mode=0666 max=3");
        const Exhausting intruder({same_group ? group : other, user, own_namespace}, 4, false);
        CHECK(intruder.error() == EMFILE);
        return in_child([&] {
            become_user(owner);
            Word word{0};
            return group.open().register_event(&word, 0, unique_name("needed")).error();
        });
    };
    for (const bool own_namespace : {false, true}) {
        CHECK(is_hindered_by(true, neighbour, own_namespace) == EMFILE);
        CHECK(is_hindered_by(false, stranger, own_namespace) == 0);
        CHECK(is_hindered_by(false, owner, own_namespace) == 0);
    }
}

TEST_CASE("A process with registrations in two groups counts in the group of its first one") {
    const Group group(" mode=0666 max_registrations=2"), other(" mode=0666 max_registrations=1");
    CHECK(in_child([&] {
              become_user(stranger);
              Word word{0};
              DataFile first = group.open(), second = other.open();
              if (!first.register_event(&word, 0, "a").ok() ||
                  !second.register_event(&word, 1, "b").ok())
                  return 1;
              if (second.register_event(&word, 2, "c") != fails(EMFILE))
                  return 2;
              // A process that has only the other group is not affected.
              return in_child([&] {
                  Word own{0};
                  // The registrations of its parent count where the parent's did.
                  return second.register_event(&own, 0, "b") == fails(EMFILE) ? 0 : 1;
              });
          }) == 0);
    CHECK(in_child([&] {
              become_user(stranger);
              Word word{0};
              DataFile file = other.open();
              return file.register_event(&word, 0, "b").error();
          }) == 0);
}

TEST_CASE("A group can be removed while a process lives that had registrations in it", "[race]") {
    std::optional<Group> group{std::in_place};
    Child child([&](Channel& channel) {
        Word word{0};
        {
            DataFile file = group->open();
            file.must_register(&word, 0, "event");
        }
        channel.send('u');
        channel.receive<char>();
        // The counts of the set outlive the group.
        DataFile file = open_device();
        file.must_register(&word, 1, unique_name("later"));
        const int forked = in_child([&] {
            Word more{0};
            return file.register_event(&more, 0, unique_name("more")).error();
        });
        channel.send(forked);
        return 0;
    });
    REQUIRE(child.channel().receive<char>() == 'u');
    REQUIRE(eventually([&] { return group->remove().ok(); }));
    group.reset();
    CHECK(child.channel().ask<int>('g') == 0);
    CHECK(child.wait() == 0);
}

TEST_CASE("Old records of a group never read as records of another group", "[long]") {
    const unsigned count = 4200;
    const std::string fields = " u32 uid; char user[8]";
    std::optional<Group> group{std::in_place, " mode=0666"};
    const Group other;
    const std::string name = group->name(), enable = "events/" + group->system() + "/enable";
    Instance instance;
    Child forger([&](Channel& channel) {
        become_user(stranger);
        Mapping memory(8);
        DataFile file = group->open();
        for (unsigned i = 0; i < count; i++)
            file.must_register(memory.at<Word>() + i, 0, "forged" + std::to_string(i) + fields);
        channel.send('r');
        channel.receive<char>();
        for (unsigned i = 0; i < count; i++)
            if (!file.record(i, Payload().add(0u).add(std::array<char, 8>{"root"})).ok())
                return 1;
        return 0;
    });
    REQUIRE(forger.channel().receive<char>() == 'r');
    // The events are removed in order of registration, or in reverse.
    const std::set<int> old = {group->event("forged0").id(),
                               group->event("forged" + std::to_string(count - 1)).id()};
    REQUIRE(write_text(instance.path(enable), "1").ok());
    forger.channel().send('w');
    REQUIRE(forger.wait() == 0);
    REQUIRE(write_text(instance.path(enable), "0").ok());
    REQUIRE(eventually([&] { return group->line().find(" # events 0,") != std::string::npos; }));

    Word word{0};
    DataFile victim = other.open();
    victim.must_register(&word, 0, "login" + fields);
    CHECK_FALSE(old.contains(other.event("login").id()));
    CHECK(read_text(instance.path("trace")).find("login: ") == std::string::npos);
    // A group that is added again is the same one.
    group.reset();
    const Group again("", name);
    DataFile file = again.open();
    file.must_register(&word, 1, "next");
    CHECK(old.contains(again.event("next").id()));
}

TEST_CASE(
    "A group has no more type numbers than max=, removed events that were recorded included") {
    const Group group(" max=3");
    std::set<int> numbers;
    for (unsigned i = 0; i < 6; i++) {
        Word word{0};
        const Event event = group.event(unique_name("removed"));
        {
            DataFile file = group.open();
            file.must_register(&word, 0, event.name());
            numbers.insert(event.id());
            const Enabled enabled{event};
        }
        REQUIRE(event.wait_removed());
    }
    // One, if all groups together have many removed events.
    CHECK(numbers.size() <= 3);
}

TEST_CASE("A program's events, bits and records are right while 1000 other groups come and go",
          "[long]") {
    const Group group;
    const std::string name = unique_name("stays");
    const unsigned count = fewer_if_debug(1000, 50);
    std::atomic<bool> stop{false};
    std::atomic<unsigned> registered{0}, wrong{0};
    Mapping memory(1);
    std::jthread program([&] {
        for (; !stop; registered++) {
            DataFile file = group.open();
            wrong += !file.register_event(memory.at<Word>(), 0, "passing").ok();
            wrong += !file.unregister(memory.at<Word>(), 0).ok();
        }
    });
    Word word{0};
    DataFile file = group.open();
    file.must_register(&word, 0, name + " u32 a");
    Instance instance;
    std::set<dev_t> numbers;
    for (unsigned i = 0; i < count; i++) {
        const Group other;
        struct stat about;
        REQUIRE(stat(other.device().c_str(), &about) == 0);
        numbers.insert(about.st_rdev);
        if (i % 10)
            continue;
        Word theirs{0};
        DataFile others = other.open();
        others.must_register(&theirs, 0, name + " u64 b");
        const bool is_own = i % 20;
        const Event event = is_own ? group.event(name) : other.event(name);
        wrong += !instance.enable(event).ok();
        wrong += !(word == is_own && theirs != is_own);
        wrong += file.record(0, Payload().add(i)).ok() != is_own;
        wrong += !instance.disable(event).ok();
    }
    stop = true;
    program.join();
    CHECK(wrong == 0);
    CHECK(registered > 0);
    CHECK(instance.records().size() == count / 20);
    // No number was given out twice.
    CHECK(numbers.size() == count);
}

TEST_CASE("With 1000 groups of 30 events, adding, registering and enabling do not take much longer",
          "[slow][long]") {
    using Clock = std::chrono::steady_clock;
    const unsigned groups = fewer_if_debug(1000, 100), each = 30;
    const std::string topic = unique_name("many");
    const auto timed = [](auto&& action) {
        const auto start = Clock::now();
        action();
        return Clock::now() - start;
    };
    Mapping memory(8);
    // As many events in both cases: the kernel's tracing takes longer with more of any kind.
    std::vector<Clock::duration> adding, registering, enabling, removing;
    std::vector<std::string> names;
    for (unsigned i = 0; i < groups; i++) {
        names.push_back(topic + "_" + std::to_string(i));
        adding.push_back(timed([&] { expect(change_group(names[i]), "add"); }));
        registering.push_back(timed([&] {
            DataFile file = open_group(names[i]);
            for (unsigned event = 0; event < each; event++)
                file.must_register(memory.at<Word>(std::size_t{4} * event), 0,
                                   "event" + std::to_string(event), 4, USER_EVENT_REG_PERSIST);
        }));
        const Event event("event3", "user_events_" + names[i]);
        enabling.push_back(timed([&] {
            expect(event.enable(), "enable");
            expect(event.disable(), "disable");
        }));
    }
    CHECK(group_status(names.back()).ends_with("\n\nActive: 30\nBusy: 0\n"));
    CHECK(lines_of(read_text(tracing_file("user_events_groups"))).size() >= groups);
    // The newest first, as tracing finds these sooner.
    for (unsigned i = groups; i--;)
        removing.push_back(
            timed([&] { CHECK(eventually([&] { return change_group("!" + names[i]).ok(); })); }));
    // The shortest times are those on which other load of the host has least influence.
    const auto compare = [](const char* what, const std::vector<Clock::duration>& times) {
        const auto tenth = static_cast<std::ptrdiff_t>(times.size() / 10);
        const auto first = *std::min_element(times.begin(), times.begin() + tenth);
        const auto last = *std::min_element(times.end() - tenth, times.end());
        const auto micro = [](auto time) {
            return std::chrono::duration<double, std::micro>(time);
        };
        std::cout << "# " << what << ": " << micro(first).count() << " us at first, "
                  << micro(last).count() << " us at last" << std::endl;
        return last < 8 * first;
    };
    CHECK(compare("adding a group", adding));
    CHECK(compare("registering 30 events", registering));
    CHECK(compare("enabling an event", enabling));
    CHECK(compare("removing a group", removing));
}
