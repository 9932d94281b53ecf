// SPDX-License-Identifier: GPL-2.0-only
// Programs in namespaces of their own: their bits follow like anybody's, records name them as the
// first namespace knows them, and root in a user namespace is not root.
#include "child.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/prctl.h>

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
    {"all of them", CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC |
                        CLONE_NEWUTS | CLONE_NEWCGROUP},
};

void enter(int flags) {
    if (unshare(flags) != 0)
        throw_errno("unshare");
}

/// Makes the user who made the user namespace root in there.
void become_its_root(uid_t outside) {
    // Who changed his ids does not own his files in /proc otherwise.
    if (prctl(PR_SET_DUMPABLE, 1) != 0)
        throw_errno("prctl");
    const std::string map = "0 " + std::to_string(outside) + " 1";
    expect(write_text("/proc/self/setgroups", "deny"), "setgroups");
    expect(write_text("/proc/self/uid_map", map), "uid_map");
    expect(write_text("/proc/self/gid_map", map), "gid_map");
}

/// What a program in the namespaces did, said over the channel.
struct Answers {
    int registered = -1, persists = -1, deleted = -1;
    pid_t pid = -1;
};

/// Registers through a file from outside, answers, and then records and tells its word for each
/// 'w'.
int serve(Channel& channel, DataFile& file, const Event& event, const Event& others) {
    // Outlives the file, which unregisters it.
    static Word word{0};
    Answers answers;
    user_reg reg = registration(&word, 0, event.name().c_str());
    answers.registered = file.register_event(reg).error();
    answers.persists =
        file.register_event(&word, 1, event.name() + "_persists", 4, USER_EVENT_REG_PERSIST)
            .error();
    if (answers.persists == 0)
        file.unregister(&word, 1);
    answers.deleted = file.delete_event(others.name()).error();
    answers.pid = getpid();
    channel.send(answers);
    while (channel.receive<char>() == 'w') {
        file.record(reg.write_index);
        channel.send(word.load());
    }
    return 0;
}

/// Goes into the namespaces, and runs a body there. A pid namespace takes the children only.
int inside(int flags, const std::function<int()>& body) {
    enter(flags);
    return flags & CLONE_NEWPID ? in_child(body) : body();
}

} // namespace

TEST_CASE("A program in a namespace of its own has bits and records as any other") {
    const Namespace& wanted = namespaces[GENERATE(range(0, 4))];
    const bool unprivileged = (wanted.flags & CLONE_NEWUSER) != 0;
    CAPTURE(wanted.name);
    const Event event(unique_name("inside")), others(unique_name("others"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 5, others.name(), 4, USER_EVENT_REG_PERSIST) == succeeds());
    REQUIRE(file.unregister(&word, 5) == succeeds());
    file.close();
    Instance instance;
    // A user namespace is made by somebody who is nobody outside: the file is all he has.
    Child child([&](Channel& channel) {
        DataFile inherited;
        if (unprivileged)
            become_user(nobody);
        return inside(wanted.flags, [&] {
            if (unprivileged)
                become_its_root(nobody);
            return serve(channel, inherited, event, others);
        });
    });
    const auto answers = child.channel().receive<Answers>();
    CHECK(answers.registered == 0);
    CHECK(answers.persists == (unprivileged ? EPERM : 0));
    CHECK(answers.deleted == (unprivileged ? EPERM : 0));
    CHECK(Event(others.name()).exists() == unprivileged);
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
        CHECK(answers.pid == 1);
        CHECK(records[0].pid() > child.pid());
    } else {
        CHECK(records[0].pid() == child.pid());
    }
    child.channel().send('e');
    CHECK(child.wait() == 0);
    CHECK(event.goes());
    DataFile().delete_event(others.name());
    DataFile().delete_event(event.name() + "_persists");
}

TEST_CASE("A file passed into a user namespace registers there, and the registration stays there") {
    const Event event(unique_name("passed"));
    DataFile file;
    Child child([](Channel& channel) {
        become_user(nobody);
        enter(CLONE_NEWUSER | CLONE_NEWNS);
        become_its_root(nobody);
        Word word{0};
        DataFile passed(channel.receive_descriptor());
        const std::string name = "passed_in_" + std::to_string(getpid());
        channel.send(passed.register_event(&word, 0, name).error());
        // By its path it is as far away as ever.
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
    CHECK(inside.goes());
}

TEST_CASE("A pid namespace that ends takes the registrations of all its processes along") {
    const Event event(unique_name("ends"));
    constexpr unsigned count = 20;
    Child child([&](Channel& channel) {
        enter(CLONE_NEWPID);
        return in_child([&]() -> int {
            Word word{0};
            DataFile file;
            file.index_of(&word, 0, event.name());
            file.close();
            for (unsigned i = 0; i < count; i++) {
                const pid_t pid = fork();
                if (pid == 0) {
                    channel.send('r');
                    while (true)
                        pause();
                }
            }
            // The first process of the namespace: all the others are killed with it.
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
    CHECK(event.goes());
}
