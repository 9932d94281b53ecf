// SPDX-License-Identifier: GPL-2.0-only
// fork: the child has its parent's registrations, as they were then, for its own memory.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <csignal>
#include <sched.h>
#include <sys/wait.h>

using namespace selftest;

namespace {

enum class Request : char { read, unregister, end };

/// A child that answers for its copy of a word, and unregisters bit 0 of that when asked to.
class Forked {
public:
    Forked(Word& word, DataFile& file)
        : child_([&](Channel& channel) {
              while (true)
                  switch (channel.receive<Request>()) {
                  case Request::read:
                      channel.send(word.load());
                      break;
                  case Request::unregister:
                      channel.send(file.unregister(&word, 0).error());
                      break;
                  case Request::end:
                      // No destructors: what is left is the kernel's to clean up.
                      _exit(0);
                  }
              return 1;
          }) {}

    std::uint32_t word() { return ask<std::uint32_t>(Request::read); }
    int unregister() { return ask<int>(Request::unregister); }
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
            const std::uint32_t here = word, there = child.word();
            CHECK(here == 1);
            CHECK(there == 1);
        }
        const std::uint32_t here = word, there = child.word();
        CHECK(here == 0);
        CHECK(there == 0);
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
