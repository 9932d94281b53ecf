// SPDX-License-Identifier: GPL-2.0-only
// DIAG_IOCSDEL: what it deletes, and for whom. PERSIST, as other events go of themselves.
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <linux/capability.h>

using namespace selftest;

namespace {

constexpr unsigned persist = USER_EVENT_REG_PERSIST;
constexpr unsigned multi_format = USER_EVENT_REG_MULTI_FORMAT;

/// Makes an event that stays, which nobody uses.
void make_idle(const std::string& command, unsigned flags = 0) {
    Word word{0};
    DataFile file;
    file.index_of(&word, 0, command, 4, flags | persist);
}

/// Makes all kinds of events that one name can have.
void make_three_idle(const std::string& name) {
    make_idle(name + " u32 a");
    make_idle(name + " u32 a", multi_format);
    make_idle(name + " u64 b", multi_format);
}

/// A persisting event that is deleted with the object.
class Persisting {
public:
    explicit Persisting(const std::string& topic, unsigned flags = 0) : event(unique_name(topic)) {
        make_idle(event.name(), flags);
    }
    ~Persisting() {
        eventually([this] { return DataFile().delete_event(event.name()) == fails(ENOENT); });
    }

    const Event event;
};

/// The errno of a deletion by another user.
int delete_as(uid_t user, std::initializer_list<unsigned> capabilities, DataFile& file,
              const std::string& name) {
    return in_child([&] {
        become_user(user, capabilities);
        return file.delete_event(name).error();
    });
}

} // namespace

TEST_CASE("DEL answers ENOENT for a name that no event has") {
    Persisting persisting("absent");
    const std::string& name = persisting.event.name();
    DataFile file;
    for (const std::string& other :
         {unique_name("absent"), std::string(), name + "x", name.substr(0, name.size() - 1),
          name + " ", name + " u32 a", "u:" + name, std::string(511, 'x')}) {
        CAPTURE(other);
        CHECK(file.delete_event(other) == fails(ENOENT));
    }
    CHECK(persisting.event.exists());
}

TEST_CASE("DEL refuses a name that it cannot read or that is too long") {
    DataFile file;
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);
    CHECK(file.control(DIAG_IOCSDEL, nullptr) == fails(EFAULT));
    CHECK(file.control(DIAG_IOCSDEL, memory.at(page_size)) == fails(EFAULT));
    *memory.at<char>(page_size - 1) = 'x';
    CHECK(file.control(DIAG_IOCSDEL, memory.at(page_size - 1)) == fails(EFAULT));
    CHECK(file.delete_event(std::string(512, 'x')) == fails(EINVAL));
}

TEST_CASE("DEL deletes an event at once after its last UNREG and close") {
    Persisting persisting("at_once");
    const Event& event = persisting.event;
    Word word{0};
    DataFile deleting;
    for (int round = 0; round < 10; round++) {
        CAPTURE(round);
        DataFile file;
        REQUIRE(file.register_event(&word, 0, event.name(), 4, persist) == succeeds());
        REQUIRE(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(event.exists());
        CHECK(deleting.delete_event(event.name()) == succeeds());
        CHECK_FALSE(event.exists());
        CHECK(status_line(event.name()).empty());
        CHECK(deleting.delete_event(event.name()) == fails(ENOENT));
    }
}

TEST_CASE("DEL answers EBUSY for an event in use") {
    Persisting persisting("busy");
    const Event& event = persisting.event;
    Word word{0};
    DataFile deleting;
    REQUIRE(event.exists());

    SECTION("held by an open file, its own and another") {
        DataFile file;
        file.index_of(&word, 0, event.name());
        REQUIRE(file.unregister(&word, 0) == succeeds());
        CHECK(file.delete_event(event.name()) == fails(EBUSY));
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
    }
    SECTION("registered, the file closed") {
        DataFile file;
        file.index_of(&word, 0, event.name());
        file.close();
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
    }
    SECTION("enabled in the top-level instance") {
        Enabled enabled{event};
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
    }
    SECTION("enabled in an instance") {
        Instance instance;
        REQUIRE(instance.enable(event) == succeeds());
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
    }
    SECTION("held by another process") {
        Child child([&](Channel& channel) {
            DataFile file;
            file.index_of(&word, 0, event.name());
            channel.send('r');
            channel.receive<char>();
            return 0;
        });
        child.channel().receive<char>();
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
        child.channel().send('e');
        REQUIRE(child.wait() == 0);
    }
    CHECK(event.exists());
}

TEST_CASE("DEL deletes at once what was in use") {
    Persisting persisting("was_busy");
    const Event& event = persisting.event;
    Word word{0};
    DataFile deleting;
    SECTION("by an open file") {
        DataFile file;
        file.index_of(&word, 0, event.name());
        CHECK(file.unregister(&word, 0) == succeeds());
    }
    SECTION("by a registration") {
        DataFile file;
        file.index_of(&word, 0, event.name());
        file.close();
        CHECK(deleting.unregister(&word, 0) == succeeds());
    }
    SECTION("by the top-level instance") {
        CHECK(event.enable() == succeeds(1));
        CHECK(event.disable() == succeeds(1));
    }
    SECTION("by an instance that is gone") {
        CHECK(Instance().enable(event) == succeeds());
    }
    CHECK(deleting.delete_event(event.name()) == succeeds());
    CHECK_FALSE(event.exists());
}

TEST_CASE("DEL deletes all events of a name") {
    const std::string name = unique_name("all");
    make_three_idle(name);
    const std::string before = status();
    REQUIRE(has_line(before, name));
    std::vector<Event> events{Event(name)};
    for (const std::string& line : lines_of(before))
        if (line.starts_with(name + "."))
            events.emplace_back(line, USER_EVENTS_MULTI_SYSTEM);
    REQUIRE(events.size() == 3);
    for (const Event& event : events)
        REQUIRE(event.exists());

    DataFile file;
    CHECK(eventually([&] { return file.delete_event(name).ok(); }));
    for (const Event& event : events) {
        CAPTURE(event.name());
        CHECK_FALSE(event.exists());
        CHECK(status_line(event.name()).empty());
    }
}

TEST_CASE("DEL of a name keeps all of its events while one of them is in use") {
    const std::string name = unique_name("kept");
    make_three_idle(name);
    const auto its_lines = [&] {
        std::vector<std::string> lines = lines_of(status());
        std::erase_if(lines, [&](const std::string& line) { return !line.starts_with(name); });
        return lines;
    };
    const auto before = its_lines();
    const bool multi = GENERATE(false, true);
    CAPTURE(multi);
    Word word{0};
    DataFile user, deleting;
    user.index_of(&word, 0, name + " u32 a", 4, multi ? multi_format : persist);
    CHECK(deleting.delete_event(name) == fails(EBUSY));
    CHECK(its_lines() == before);
    // What was not in use can be used as before.
    for (const unsigned flags : {persist, multi_format}) {
        CHECK(deleting.register_event(&word, 1, name + " u32 a", 4, flags) == succeeds());
        CHECK(deleting.unregister(&word, 1) == succeeds());
    }
    CHECK(user.unregister(&word, 0) == succeeds());
    user.close();
    deleting.close();
    CHECK(eventually([&] { return DataFile().delete_event(name).ok(); }));
}

TEST_CASE("DEL of an event that persists needs the capability") {
    DataFile file;
    SECTION("and another user is refused without it") {
        Persisting persisting("capability");
        // Idle, as far as the in-tree user_events is concerned, only some time after its last use.
        CHECK(eventually(
            [&] { return delete_as(nobody, {}, file, persisting.event.name()) != EBUSY; }));
        CHECK(delete_as(nobody, {}, file, persisting.event.name()) == EPERM);
        CHECK(delete_as(nobody, {CAP_SYS_PTRACE, CAP_DAC_OVERRIDE}, file,
                        persisting.event.name()) == EPERM);
        CHECK(persisting.event.exists());
    }
    SECTION("which is CAP_PERFMON or CAP_SYS_ADMIN, also to make one") {
        for (unsigned capability : {CAP_PERFMON, CAP_SYS_ADMIN}) {
            CAPTURE(capability);
            const Event event(unique_name("capability"));
            Word word{0};
            DataFile registering;
            CHECK(in_child([&] {
                      become_user(nobody, {capability});
                      return registering.register_event(&word, 0, event.name(), 4, persist).error();
                  }) == 0);
            registering.close();
            CHECK(event.exists());
            CHECK(eventually(
                [&] { return delete_as(nobody, {capability}, file, event.name()) == 0; }));
            CHECK_FALSE(event.exists());
        }
    }
    SECTION("also for the user who made it") {
        const Event event(unique_name("capability"));
        Word word{0};
        DataFile registering;
        REQUIRE(in_child([&] {
                    become_user(nobody, {CAP_PERFMON});
                    return registering.register_event(&word, 0, event.name(), 4, persist).error();
                }) == 0);
        registering.close();
        CHECK(eventually([&] { return delete_as(nobody, {}, file, event.name()) != EBUSY; }));
        CHECK(delete_as(nobody, {}, file, event.name()) == EPERM);
        CHECK(event.exists());
        CHECK(eventually([&] { return file.delete_event(event.name()).ok(); }));
    }
}

TEST_CASE("DEL leaves the events of other names alone") {
    Persisting one("one"), other("other");
    DataFile file;
    CHECK(eventually([&] { return file.delete_event(one.event.name()).ok(); }));
    CHECK_FALSE(one.event.exists());
    CHECK(other.event.exists());
}
