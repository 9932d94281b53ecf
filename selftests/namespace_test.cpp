// SPDX-License-Identifier: GPL-2.0-only
// Programs in namespaces: bits follow the event as elsewhere, records hold the pid of the initial
// pid namespace, and root in a user namespace has no extra rights.
#include "catch.hpp"
#include "child.hpp"
#include "namespaces.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

using namespace selftest;

namespace {

struct Namespace {
    const char* name;
    int flags;
};

constexpr Namespace namespaces[] = {
    {"pid", CLONE_NEWPID},
    {"mount", CLONE_NEWNS},
    {"user", CLONE_NEWUSER},
    {"all", CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC |
                CLONE_NEWUTS | CLONE_NEWCGROUP},
};

/// Results of a program in the namespaces.
struct Results {
    int registered = -1, persists = -1, deleted = -1;
    pid_t pid = -1;
};

/// Registers through an inherited file and sends the results. For each 'w' it then writes a record
/// and sends its word.
int serve(Channel& channel, DataFile& file, const Event& event, const Event& other) {
    // The file's destructor unregisters it, so it must live longer.
    static Word word{0};
    Results results;
    user_reg reg = registration(&word, 0, event.name().c_str());
    results.registered = file.register_event(reg).error();
    results.persists =
        file.register_event(&word, 1, event.name() + "_persists", 4, USER_EVENT_REG_PERSIST)
            .error();
    if (results.persists == 0)
        file.unregister(&word, 1);
    results.deleted = file.delete_event(other.name()).error();
    results.pid = getpid();
    channel.send(results);
    while (channel.receive<char>() == 'w') {
        file.record(reg.write_index);
        channel.send(word.load());
    }
    return 0;
}

/// Enters new namespaces and runs a body there. Only children enter a new pid namespace.
int inside(int flags, const std::function<int()>& body) {
    enter(flags);
    return flags & CLONE_NEWPID ? in_child(body) : body();
}

} // namespace

TEST_CASE("A program in new namespaces registers, gets bit updates and writes records") {
    const Namespace& wanted = namespaces[GENERATE(range(0, 4))];
    const bool unprivileged = (wanted.flags & CLONE_NEWUSER) != 0;
    CAPTURE(wanted.name);
    const Event event(unique_name("inside")), other(unique_name("other"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 5, other.name(), 4, USER_EVENT_REG_PERSIST) == succeeds());
    REQUIRE(file.unregister(&word, 5) == succeeds());
    file.close();
    Instance instance;
    // An unprivileged user creates the user namespace. It has access only through the inherited
    // file.
    Child child([&](Channel& channel) {
        DataFile inherited;
        if (unprivileged)
            become_user(unprivileged_uid);
        return inside(wanted.flags, [&] {
            if (unprivileged)
                map_to_root(unprivileged_uid);
            return serve(channel, inherited, event, other);
        });
    });
    const auto results = child.channel().receive<Results>();
    CHECK(results.registered == 0);
    CHECK(results.persists == (unprivileged ? EPERM : 0));
    CHECK(results.deleted == (unprivileged ? EPERM : 0));
    CHECK(Event(other.name()).exists() == unprivileged);
    const auto ask = [&] {
        child.channel().send('w');
        return child.channel().receive<std::uint32_t>();
    };
    CHECK(ask() == 0);
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(ask() == 1);
    REQUIRE(instance.disable(event) == succeeds());
    CHECK(ask() == 0);
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    if (wanted.flags & CLONE_NEWPID) {
        CHECK(results.pid == 1);
        CHECK(records[0].pid() > child.pid());
    } else {
        CHECK(records[0].pid() == child.pid());
    }
    child.channel().send('e');
    CHECK(child.wait() == 0);
    CHECK(event.wait_removed());
    DataFile().delete_event(other.name());
    DataFile().delete_event(event.name() + "_persists");
}

TEST_CASE(
    "A program in a user namespace can register through a passed file, but not open the file") {
    DataFile file;
    Child child([](Channel& channel) {
        become_user(unprivileged_uid);
        enter(CLONE_NEWUSER | CLONE_NEWNS);
        map_to_root(unprivileged_uid);
        Word word{0};
        DataFile passed(channel.receive_descriptor());
        const std::string name = "passed_in_" + std::to_string(getpid());
        channel.send(passed.register_event(&word, 0, name).error());
        // The program still may not open the path.
        channel.send(Outcome::of(open(tracing_file("user_events_data").c_str(), O_RDWR)).error());
        channel.receive<char>();
        channel.send(word.load());
        return 0;
    });
    child.channel().send_descriptor(file.descriptor());
    CHECK(child.channel().receive<int>() == 0);
    CHECK(child.channel().receive<int>() == EACCES);
    const Event inside("passed_in_" + std::to_string(child.pid()));
    CHECK(inside.exists());
    REQUIRE(inside.enable() == succeeds(1));
    child.channel().send('g');
    CHECK(child.channel().receive<std::uint32_t>() == 1);
    CHECK(child.wait() == 0);
    CHECK(inside.exists());
    REQUIRE(inside.disable() == succeeds(1));
    CHECK(inside.exists());
    file.close();
    CHECK(inside.wait_removed());
}

TEST_CASE("The end of a pid namespace removes the registrations of all its processes") {
    const Event event(unique_name("ends"));
    constexpr unsigned count = 20;
    Child child([&](Channel& channel) {
        enter(CLONE_NEWPID);
        return in_child([&]() -> int {
            Word word{0};
            DataFile file;
            file.must_register(&word, 0, event.name());
            file.close();
            for (unsigned i = 0; i < count; i++) {
                const pid_t pid = fork();
                if (pid == 0) {
                    channel.send('r');
                    while (true)
                        pause();
                }
            }
            // When the first process of the namespace exits, the kernel kills the others.
            if (channel.receive<char>() == 'e')
                _exit(3);
            return 1;
        });
    });
    for (unsigned i = 0; i < count; i++)
        REQUIRE(child.channel().receive<char>() == 'r');
    {
        const Enabled enabled{event};
        CHECK(event.exists());
    }
    CHECK(event.exists());
    child.channel().send('e');
    CHECK(child.wait() == 3);
    CHECK(event.wait_removed());
}
