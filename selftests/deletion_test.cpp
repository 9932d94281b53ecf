// SPDX-License-Identifier: GPL-2.0-only
// DIAG_IOCSDEL: which events it deletes, for which users. Only persistent events need deletion.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <cstring>
#include <linux/capability.h>

using namespace selftest;

namespace {

constexpr unsigned persist = USER_EVENT_REG_PERSIST;
constexpr unsigned multi_format = USER_EVENT_REG_MULTI_FORMAT;

/// Creates a persistent event without users.
void create_unused(const std::string& command, unsigned flags = 0) {
    Word word{0};
    DataFile file;
    file.must_register(&word, 0, command, 4, flags | persist);
}

/// Creates a single-format and two multi-format events of one name, all without users.
void create_three_unused(const std::string& name) {
    create_unused(name + " u32 a");
    create_unused(name + " u32 a", multi_format);
    create_unused(name + " u64 b", multi_format);
}

/// A persistent event that is deleted with the object.
class Persistent {
public:
    explicit Persistent(const std::string& topic, unsigned flags = 0) : event(unique_name(topic)) {
        create_unused(event.name(), flags);
    }
    ~Persistent() {
        eventually([this] { return DataFile().delete_event(event.name()) == fails(ENOENT); });
    }

    const Event event;
};

/// Deletes an event as another user and returns the errno.
int delete_as(uid_t user, std::initializer_list<unsigned> capabilities, DataFile& file,
              const std::string& name) {
    return in_child([&] {
        become_user(user, capabilities);
        return file.delete_event(name).error();
    });
}

} // namespace

TEST_CASE("DEL fails with ENOENT for a name that no event has") {
    Persistent persistent("absent");
    const std::string& name = persistent.event.name();
    DataFile file;
    for (const std::string& other :
         {unique_name("absent"), std::string(), name + "x", name.substr(0, name.size() - 1),
          name + " ", name + " u32 a", "u:" + name, std::string(511, 'x')}) {
        CAPTURE(other);
        CHECK(file.delete_event(other) == fails(ENOENT));
    }
    CHECK(persistent.event.exists());
}

TEST_CASE("DEL fails with EFAULT if the name is unreadable, with EINVAL if it is too long") {
    DataFile file;
    Mapping memory(2);
    memory.protect(PROT_NONE, 1);
    CHECK(file.control(DIAG_IOCSDEL, nullptr) == fails(EFAULT));
    CHECK(file.control(DIAG_IOCSDEL, memory.at(page_size)) == fails(EFAULT));
    *memory.at<char>(page_size - 1) = 'x';
    CHECK(file.control(DIAG_IOCSDEL, memory.at(page_size - 1)) == fails(EFAULT));
    CHECK(file.delete_event(std::string(512, 'x')) == fails(EINVAL));
}

TEST_CASE("DEL succeeds immediately after the last UNREG and close") {
    Persistent persistent("at_once");
    const Event& event = persistent.event;
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

TEST_CASE("DEL fails with EBUSY while the event is in use") {
    Persistent persistent("busy");
    const Event& event = persistent.event;
    Word word{0};
    DataFile deleting;
    REQUIRE(event.exists());

    SECTION("by an open file, whichever file issues DEL") {
        DataFile file;
        file.must_register(&word, 0, event.name());
        REQUIRE(file.unregister(&word, 0) == succeeds());
        CHECK(file.delete_event(event.name()) == fails(EBUSY));
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
    }
    SECTION("by a registration whose file is closed") {
        DataFile file;
        file.must_register(&word, 0, event.name());
        file.close();
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
    }
    SECTION("by the top-level instance") {
        Enabled enabled{event};
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
    }
    SECTION("by another instance") {
        Instance instance;
        REQUIRE(instance.enable(event) == succeeds());
        CHECK(deleting.delete_event(event.name()) == fails(EBUSY));
    }
    SECTION("by another process") {
        Child child([&](Channel& channel) {
            DataFile file;
            file.must_register(&word, 0, event.name());
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

TEST_CASE("DEL succeeds immediately after the last use of the event") {
    Persistent persistent("was_busy");
    const Event& event = persistent.event;
    Word word{0};
    DataFile deleting;
    SECTION("by an open file") {
        DataFile file;
        file.must_register(&word, 0, event.name());
        CHECK(file.unregister(&word, 0) == succeeds());
    }
    SECTION("by a registration") {
        DataFile file;
        file.must_register(&word, 0, event.name());
        file.close();
        CHECK(deleting.unregister(&word, 0) == succeeds());
    }
    SECTION("by the top-level tracing instance") {
        CHECK(event.enable() == succeeds(1));
        CHECK(event.disable() == succeeds(1));
    }
    SECTION("by a removed instance") {
        CHECK(Instance().enable(event) == succeeds());
    }
    CHECK(deleting.delete_event(event.name()) == succeeds());
    CHECK_FALSE(event.exists());
}

TEST_CASE("DEL deletes the single-format and all multi-format events of a name") {
    const std::string name = unique_name("all");
    create_three_unused(name);
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

TEST_CASE("DEL deletes no event of a name while one of them is in use") {
    const std::string name = unique_name("kept");
    create_three_unused(name);
    const auto status_lines = [&] {
        std::vector<std::string> lines = lines_of(status());
        std::erase_if(lines, [&](const std::string& line) { return !line.starts_with(name); });
        return lines;
    };
    const auto before = status_lines();
    const auto [fields, multi] =
        GENERATE(table<std::string, bool>({{" u32 a", false}, {" u32 a", true}, {" u64 b", true}}));
    CAPTURE(fields, multi);
    Word word{0};
    DataFile user, deleting;
    user.must_register(&word, 0, name + fields, 4, multi ? multi_format : persist);
    CHECK(deleting.delete_event(name) == fails(EBUSY));
    CHECK(status_lines() == before);
    // The unused events still exist and can be registered.
    for (const unsigned flags : {persist, multi_format}) {
        CHECK(deleting.register_event(&word, 1, name + " u32 a", 4, flags) == succeeds());
        CHECK(deleting.unregister(&word, 1) == succeeds());
    }
    CHECK(user.unregister(&word, 0) == succeeds());
    user.close();
    deleting.close();
    CHECK(eventually([&] { return DataFile().delete_event(name).ok(); }));
}

TEST_CASE("DEL of a persistent event requires CAP_PERFMON or CAP_SYS_ADMIN") {
    DataFile file;
    SECTION("another user with neither capability gets EPERM") {
        Persistent persistent("capability");
        // In the in-tree user_events, the event stays busy for some time after its last use.
        CHECK(eventually([&] {
            return delete_as(unprivileged_uid, {}, file, persistent.event.name()) != EBUSY;
        }));
        CHECK(delete_as(unprivileged_uid, {}, file, persistent.event.name()) == EPERM);
        CHECK(delete_as(unprivileged_uid, {CAP_SYS_PTRACE, CAP_DAC_OVERRIDE}, file,
                        persistent.event.name()) == EPERM);
        CHECK(persistent.event.exists());
    }
    SECTION("a user with one of them can create and delete the event") {
        for (unsigned capability : {CAP_PERFMON, CAP_SYS_ADMIN}) {
            CAPTURE(capability);
            const Event event(unique_name("capability"));
            Word word{0};
            DataFile registering;
            CHECK(in_child([&] {
                      become_user(unprivileged_uid, {capability});
                      return registering.register_event(&word, 0, event.name(), 4, persist).error();
                  }) == 0);
            registering.close();
            CHECK(event.exists());
            CHECK(eventually([&] {
                return delete_as(unprivileged_uid, {capability}, file, event.name()) == 0;
            }));
            CHECK_FALSE(event.exists());
        }
    }
    SECTION("the creating user with neither capability gets EPERM") {
        const Event event(unique_name("capability"));
        Word word{0};
        DataFile registering;
        REQUIRE(in_child([&] {
                    become_user(unprivileged_uid, {CAP_PERFMON});
                    return registering.register_event(&word, 0, event.name(), 4, persist).error();
                }) == 0);
        registering.close();
        CHECK(eventually(
            [&] { return delete_as(unprivileged_uid, {}, file, event.name()) != EBUSY; }));
        CHECK(delete_as(unprivileged_uid, {}, file, event.name()) == EPERM);
        CHECK(event.exists());
        CHECK(eventually([&] { return file.delete_event(event.name()).ok(); }));
    }
}

TEST_CASE("DEL of another user's event fails with EPERM, also while it is in use") {
    const Event event(unique_name("of_root"));
    Word word{0};
    DataFile file, deleting;
    file.must_register(&word, 0, event.name());
    const auto error = [&] { return delete_as(unprivileged_uid, {}, deleting, event.name()); };
    CHECK(error() == EPERM);
    {
        const Enabled enabled{event};
        CHECK(error() == EPERM);
        CHECK(delete_as(unprivileged_uid, {CAP_PERFMON}, deleting, event.name()) == EBUSY);
    }
    // Idle, but for the file.
    REQUIRE(file.unregister(&word, 0) == succeeds());
    CHECK(error() == EPERM);
    CHECK(event.exists());
}

TEST_CASE("DEL does not delete events of other names") {
    Persistent one("one"), other("other");
    DataFile file;
    CHECK(eventually([&] { return file.delete_event(one.event.name()).ok(); }));
    CHECK_FALSE(one.event.exists());
    CHECK(other.event.exists());
}
