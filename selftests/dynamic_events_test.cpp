// SPDX-License-Identifier: GPL-2.0-only
// The file dynamic_events: its lines create, list and delete events.
#include "catch.hpp"
#include "deadline.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

using namespace selftest;

namespace {

/// Writes one line to dynamic_events without deleting the events in it.
Outcome command(const std::string& line) {
    return write_text(tracing_file("dynamic_events"), line + "\n", O_APPEND);
}

Outcome succeeds_with(const std::string& line) {
    return succeeds(static_cast<long>(line.size()) + 1);
}

std::string listing() {
    return read_text(tracing_file("dynamic_events"));
}

/// Deletes an event that a test created, if it still exists.
class Cleanup {
public:
    explicit Cleanup(std::string name) : name_(std::move(name)) {}
    ~Cleanup() {
        eventually([this] { return DataFile().delete_event(name_) != fails(EBUSY); });
    }

private:
    std::string name_;
};

} // namespace

TEST_CASE("A u: line creates a persistent event") {
    const Event event(unique_name("made"));
    Cleanup cleanup(event.name());
    const std::string line = "u:" + event.name() + " u32 a; __rel_loc char[] b";
    REQUIRE(command(line) == succeeds_with(line));
    CHECK(event.exists());
    CHECK(status_line(event.name()) == event.name());
    CHECK(has_line(listing(), line));
    CHECK(has_line(event.format(), "print fmt: \"a=%u b=%s\", REC->a, __get_rel_str(b)"));

    SECTION("writing the same fields again succeeds") {
        CHECK(command(line) == succeeds_with(line));
        const std::string spelling = "u:" + event.name() + " u32 a;__rel_loc char[] b";
        CHECK(command(spelling) == succeeds_with(spelling));
        CHECK(has_line(listing(), line));
    }
    SECTION("writing other fields fails with EADDRINUSE") {
        CHECK(command("u:" + event.name()) == fails(EADDRINUSE));
        CHECK(command("u:" + event.name() + " u32 a") == fails(EADDRINUSE));
    }
    SECTION("the event remains after a program has registered and used it") {
        Word word{0};
        DataFile file;
        CHECK(file.register_event(&word, 0, event.name() + " u64 a") == fails(EADDRINUSE));
        const std::uint32_t index =
            file.must_register(&word, 0, event.name() + " u32 a; __rel_loc char[] b");
        Enabled enabled{event};
        CHECK(word == 1);
        CHECK(file.record(index, Payload().add(1u).add(0u)) == succeeds(12));
    }
    CHECK(event.exists());
    CHECK(has_line(listing(), line));
}

TEST_CASE("A u: line may contain the system name user_events") {
    const Event event(unique_name("system"));
    Cleanup cleanup(event.name()), if_misread("user_events/" + event.name());
    const std::string line = "u:user_events/" + event.name() + " u32 a";
    CHECK(command(line) == succeeds_with(line));
    CHECK(event.exists());
    CHECK(has_line(listing(), "u:" + event.name() + " u32 a"));
}

TEST_CASE("An invalid u: line fails with EINVAL") {
    const std::string name = unique_name("refused");
    struct Case {
        std::string name, rest;
    };
    const Case cases[] = {{"", ""},        {name, " bad a"},    {name, " u32"},
                          {name, ":flag"}, {"a/b/c", " u32 a"}, {".", ""}};
    for (const Case& test : cases) {
        CAPTURE(test.name, test.rest);
        Cleanup if_taken(test.name);
        CHECK(command("u:" + test.name + test.rest) == fails(EINVAL));
    }
    CHECK(command("u") == fails(EINVAL));
    CHECK(command("y:" + name) == fails(EINVAL));
    CHECK(command("u: " + name) == fails(EINVAL));
    CHECK(listing().find(name) == std::string::npos);
}

TEST_CASE("A u: line has a command of at most 511 bytes") {
    const Event event(unique_name("long"));
    Cleanup cleanup(event.name());
    const std::string longest =
        event.name() + " u32 a" + std::string(505 - event.name().size(), ';');
    REQUIRE(longest.size() == 511);
    CHECK(command("u:" + longest + ";") == fails(EINVAL));
    CHECK_FALSE(event.exists());
    CHECK(command("u:" + longest) == succeeds_with("u:" + longest));
    CHECK(event.exists());
}

TEST_CASE("dynamic_events lists events of u: lines and of programs in order of creation") {
    const std::string name = unique_name("order");
    Cleanup first(name + "_c"), second(name + "_a");
    Word word{0};
    DataFile file;
    REQUIRE(command("u:" + name + "_c").ok());
    REQUIRE(file.register_event(&word, 0, name + "_b char[0x4] x;struct s y 4") == succeeds());
    REQUIRE(command("u:" + name + "_a u8 a; u8 b").ok());
    std::vector<std::string> listed;
    for (const std::string& line : lines_of(listing()))
        if (line.find(name) != std::string::npos)
            listed.push_back(line);
    REQUIRE(listed.size() == 3);
    CHECK(listed[0] == "u:" + name + "_c");
    CHECK(listed[1].starts_with("u:" + name + "_b char["));
    CHECK(listed[1].ends_with("] x; struct s y 4"));
    CHECK(listed[2] == "u:" + name + "_a u8 a; u8 b");
}

TEST_CASE("A -: or !u: line deletes an event that is not in use") {
    // The name is nearly as long as a directory name can be, the last line as a command can be.
    const Event event(unique_name("deleted") + std::string(200, ';'));
    Cleanup cleanup(event.name());
    REQUIRE(command("u:" + event.name() + " u32 a").ok());
    const auto [before, after] = GENERATE(table<std::string, std::string>({
        {"-:", ""},
        {"-:user_events/", ""},
        {"-:", " u32 a"},
        {"!u:", " u32 a"},
        {"-:", " " + std::string(3800, ';') + "u32 a"},
    }));
    const std::string line = before + event.name() + after;
    CAPTURE(line);
    CHECK(command(line) == succeeds_with(line));
    CHECK_FALSE(event.exists());
    CHECK(status_line(event.name()).empty());
    CHECK(listing().find(event.name()) == std::string::npos);
    CHECK_FALSE(command(line).ok());
}

TEST_CASE("A line deletes all events that match, in order of creation, up to the first in use") {
    constexpr unsigned persist = USER_EVENT_REG_PERSIST;
    constexpr unsigned multi = persist | USER_EVENT_REG_MULTI_FORMAT;
    const std::string name = unique_name("several");
    const Cleanup cleanup(name);
    {
        Word word{0};
        DataFile file;
        file.must_register(&word, 0, name + " u32 a", 4, persist);
        file.must_register(&word, 1, name + " u32 a", 4, multi);
        file.must_register(&word, 2, name + " u64 b", 4, multi);
    }
    const auto present = [&] {
        std::vector<std::string> names = lines_of(status());
        std::erase_if(names, [&](const std::string& line) { return !line.starts_with(name); });
        return names;
    };
    const auto all = present();
    REQUIRE(all.size() == 3);
    using Names = std::vector<std::string>;

    SECTION("by name") {
        CHECK(command("-:" + name).ok());
        CHECK(present().empty());
    }
    SECTION("by name, also a kprobe's") {
        const Event probe(name, "selftests");
        const Definition definition("kprobe_events", "p:selftests/" + name + " vfs_read",
                                    "-:selftests/" + name);
        REQUIRE(probe.exists());
        CHECK(command("-:" + name).ok());
        CHECK(present().empty());
        CHECK_FALSE(probe.exists());
    }
    SECTION("by subsystem and name") {
        CHECK(command("-:user_events/" + name).ok());
        CHECK(present() == Names{all[1], all[2]});
    }
    SECTION("one of several formats") {
        CHECK(command("-:user_events_multi/" + all[2]).ok());
        CHECK(present() == Names{all[0], all[1]});
    }
    SECTION("by name and fields") {
        CHECK(command("-:" + name + " u32 a").ok());
        CHECK(present() == Names{all[2]});
    }
    SECTION("the second is in use") {
        const Event second(all[1], USER_EVENTS_MULTI_SYSTEM);
        REQUIRE(second.enable() == succeeds(1));
        CHECK(command("-:" + name) == fails(EBUSY));
        REQUIRE(second.disable() == succeeds(1));
        CHECK(present() == Names{all[1], all[2]});
    }
}

TEST_CASE("Truncating dynamic_events deletes all events, or none while one is in use") {
    const std::string name = unique_name("emptied");
    Cleanup first(name + "_a"), second(name + "_b");
    REQUIRE(command("u:" + name + "_a").ok());
    REQUIRE(command("u:" + name + "_b").ok());
    const std::string path = tracing_file("dynamic_events");
    {
        const Enabled enabled{Event(name + "_a")};
        CHECK(write_text(path, "", O_TRUNC) == fails(EBUSY));
        CHECK(Event(name + "_b").exists());
    }
    CHECK(write_text(path, "", O_TRUNC) == succeeds());
    CHECK_FALSE(Event(name + "_a").exists());
    CHECK_FALSE(Event(name + "_b").exists());
    CHECK(listing().empty());
}

TEST_CASE("A -: or !u: line fails with ENOENT if no event matches, with EBUSY if it is in use") {
    const Event event(unique_name("not_deleted"));
    Cleanup cleanup(event.name());
    REQUIRE(command("u:" + event.name() + " u32 a").ok());
    CHECK(command("-:" + event.name() + "x") == fails(ENOENT));
    CHECK(command("-:other_system/" + event.name()) == fails(ENOENT));
    CHECK(command("!u:" + event.name() + " u64 a") == fails(ENOENT));
    {
        Enabled enabled{event};
        CHECK(command("-:" + event.name()) == fails(EBUSY));
        CHECK(command("!u:" + event.name() + " u32 a") == fails(EBUSY));
    }
    CHECK(event.exists());
}
