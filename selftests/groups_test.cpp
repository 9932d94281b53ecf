// SPDX-License-Identifier: GPL-2.0-only
// Groups of events, each with a device of its own. What a program of one group can't do to another
// group is in group_isolation_test.cpp.
#include "bind_mount.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "descriptor.hpp"
#include "device.hpp"
#include "group.hpp"
#include "io_uring.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "registered.hpp"
#include "rule.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <thread>

using namespace selftest;

namespace {

/// The errno of opening a file, or 0.
int error_of_open(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    return file.number() < 0 ? errno : 0;
}

struct stat about(const std::string& path) {
    struct stat about;
    if (stat(path.c_str(), &about) != 0)
        throw_errno("stat " + path);
    return about;
}

/// What sysfs calls the device of a node, for all users.
std::string sysfs_link(const std::string& node) {
    const dev_t number = about(node).st_rdev;
    return "/sys/dev/char/" + std::to_string(major(number)) + ":" + std::to_string(minor(number));
}

/// A node of its own for a device, as a container has one.
class Node {
public:
    explicit Node(dev_t number) : path_("/dev/" + unique_name("node")) {
        if (mknod(path_.c_str(), S_IFCHR | 0600, number) != 0)
            throw_errno("mknod " + path_);
    }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    ~Node() { unlink(path_.c_str()); }

    const std::string& path() const { return path_; }

private:
    std::string path_;
};

} // namespace

TEST_CASE("A group has a device of its own, with the owner and the mode that it is given") {
    const Group group(" uid=12 gid=34 mode=0640");
    const struct stat first = about(group.device());
    CHECK(first.st_mode == (S_IFCHR | 0640));
    CHECK(first.st_uid == 12);
    CHECK(first.st_gid == 34);
    const Group other;
    const struct stat second = about(other.device());
    CHECK(second.st_mode == (S_IFCHR | 0600));
    CHECK(second.st_uid == 0);
    CHECK(second.st_gid == 0);
    CHECK(major(first.st_rdev) == major(second.st_rdev));
    CHECK(minor(first.st_rdev) != minor(second.st_rdev));
    const Group closed(" mode=0");
    CHECK(about(closed.device()).st_mode == S_IFCHR);
    CHECK(minor(about(device).st_rdev) == 0);
}

TEST_CASE("sysfs shows the name and the tracing system of a group to root alone") {
    const Group group(" mode=0666");
    const std::string link = sysfs_link(group.device());
    CHECK(read_text(link + "/group") == group.name() + "\n");
    CHECK(read_text(link + "/system") == group.system() + "\n");
    CHECK(has_line(read_text(link + "/uevent"), "DEVNAME=user_events/" + group.name()));
    CHECK(read_text("/sys/class/user_events/user_events0/group") == "default\n");
    CHECK(std::filesystem::read_symlink(link).string().find(group.name()) == std::string::npos);
    CHECK(in_child([&] {
              become_user(unprivileged_uid);
              return error_of_open(link + "/uevent");
          }) == EACCES);
}

TEST_CASE("Events of one name in several groups are different events") {
    const std::string name = unique_name("same");
    Word words[3] = {};
    const Group first, second;
    DataFile files[] = {first.open(), second.open(), open_device()};
    const Event events[] = {first.event(name), second.event(name), Event(name)};
    const std::string fields[] = {" u32 a", " u64 b; u64 c", " char d[3]"};
    Instance instance;
    for (unsigned i = 0; i < 3; i++) {
        CHECK(files[i].must_register(&words[i], 0, name + fields[i]) == 0);
        CHECK(events[i].exists());
    }
    REQUIRE(instance.enable(events[1]) == succeeds());
    CHECK(words[0] == 0);
    CHECK(words[1] == 1);
    CHECK(words[2] == 0);
    CHECK(files[0].record(0, Payload().add(1u)) == fails(EBADF));
    CHECK(files[1].record(0, Payload().add(std::uint64_t{7}).add(std::uint64_t{8})).ok());
    const std::vector<Record> records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("c") == 8);
    REQUIRE(instance.disable(events[1]) == succeeds());
    CHECK(events[0].id() != events[1].id());
}

TEST_CASE("Several formats of one name are in the system of the group with _multi") {
    const Group group;
    Word word{0};
    DataFile file = group.open();
    const std::string name = unique_name("several");
    file.must_register(&word, 0, name + " u32 a", 4, USER_EVENT_REG_MULTI_FORMAT);
    file.must_register(&word, 1, name + " u64 a", 4, USER_EVENT_REG_MULTI_FORMAT);
    for (const char* number : {".0", ".1"})
        CHECK(Event(name + number, group.system() + "_multi").exists());
    CHECK_FALSE(Event(name + ".0", "user_events_multi").exists());
    CHECK(file.delete_event(name) == fails(EBUSY));
    CHECK(DataFile().delete_event(name) == fails(ENOENT));
}

TEST_CASE("The device of a group shows the group's events; user_events_status those of no group") {
    const Group group, other;
    Word word{0};
    DataFile file = group.open(), neighbour = other.open();
    const std::string name = unique_name("mine"), theirs = unique_name("theirs");
    file.must_register(&word, 0, name);
    neighbour.must_register(&word, 1, theirs);
    Registered common("");
    CHECK(group.status() == name + "\n\nActive: 1\nBusy: 0\n");
    const Enabled enabled{group.event(name)};
    CHECK(group.status() == name + " # Used by ftrace\n\nActive: 1\nBusy: 1\n");
    CHECK(other.status() == theirs + "\n\nActive: 1\nBusy: 0\n");
    CHECK(status_line(name).empty());
    CHECK(status_line(theirs).empty());
    CHECK_FALSE(status_line(common.event.name()).empty());
    CHECK(group_status("default") == status());
}

TEST_CASE(
    "user_events_groups lists groups with options, from which they can be added, and counts") {
    const std::string options = " max=5 max_per_user=4 max_registrations=3 uid=1 gid=2 mode=0604";
    const Group group(options);
    CHECK(group.line() ==
          group.name() + options + " # events 0, busy 0, lost 0, suppressed 0, users 0");
    CHECK(group_line("default").starts_with("default max="));
    Word word{0};
    DataFile file = group.open();
    const std::string name = unique_name("counted");
    file.must_register(&word, 0, name);
    const Enabled enabled{group.event(name)};
    const std::string line = group.line();
    CHECK(line.ends_with(" # events 1, busy 1, lost 0, suppressed 0, users 1"));
    CHECK(change_group(line) == succeeds());
    CHECK(group.line() == line);
}

TEST_CASE("Adding a group that exists changes the options that are given") {
    const Group group(" max=7 mode=0640");
    const auto number = about(group.device()).st_rdev;
    DataFile file = group.open();
    CHECK(change_group(group.name() + " max_per_user=2 uid=5") == succeeds());
    CHECK(group.line().starts_with(group.name() + " max=7 max_per_user=2 "));
    const struct stat changed = about(group.device());
    CHECK(changed.st_mode == (S_IFCHR | 0640));
    CHECK(changed.st_uid == 5);
    CHECK(changed.st_rdev == number);
    // The file that was open before is of the same group.
    Word word{0};
    const std::string name = unique_name("kept");
    CHECK(file.must_register(&word, 0, name) == 0);
    CHECK(has_line(group.status(), name));
}

TEST_CASE(
    "Another mode closes the mounted node of a group, and leaves a node that others have made") {
    const Group group(" mode=0666");
    const BindMount mounted(group.device());
    const Node made(about(group.device()).st_rdev);
    REQUIRE(chmod(made.path().c_str(), 0666) == 0);
    const auto error_for_user = [](const std::string& path) {
        return in_child([&] {
            become_user(unprivileged_uid);
            return error_of_open(path);
        });
    };
    for (const std::string& path : {group.device(), mounted.path(), made.path()})
        CHECK(error_for_user(path) == 0);
    REQUIRE(change_group(group.name() + " mode=0640") == succeeds());
    CHECK(error_for_user(group.device()) == EACCES);
    CHECK(error_for_user(mounted.path()) == EACCES);
    CHECK(about(mounted.path()).st_mode == S_IFCHR);
    CHECK(error_for_user(made.path()) == 0);
}

TEST_CASE("The limits of events count by group, and by user in it") {
    const Group group(" max=3 max_per_user=2 mode=0666"), other(" max_per_user=2 mode=0666");
    const std::string topic = unique_name("limited");
    const auto registered = [&](const Group& where, unsigned count) {
        return in_child([&] {
            become_user(unprivileged_uid);
            Mapping memory(1);
            DataFile file = where.open();
            for (unsigned i = 0; i < count; i++)
                if (!file.register_event(memory.at<Word>() + i, 0, topic + std::to_string(i)).ok())
                    return static_cast<int>(i);
            return static_cast<int>(count);
        });
    };
    CHECK(registered(group, 3) == 2);
    Mapping memory(1);
    DataFile file = group.open();
    // A process with the capability may exceed max_per_user, but not max.
    for (unsigned i = 0; i < 3; i++)
        file.must_register(memory.at<Word>() + i, 0, topic + "_root" + std::to_string(i));
    CHECK(file.register_event(memory.at<Word>() + 3, 0, topic + "_more") == fails(EMFILE));
    CHECK(registered(other, 2) == 2);
}

TEST_CASE("The limit of registrations counts by group, and by user in it") {
    const Group group(" max_registrations=2 mode=0666"), other(" mode=0666");
    const std::string name = unique_name("limited");
    const auto registered = [&](const Group& where) {
        return in_child([&] {
            become_user(unprivileged_uid);
            Mapping memory(1);
            DataFile file = where.open();
            for (unsigned i = 0; i < 4; i++)
                if (!file.register_event(memory.at<Word>() + i, 0, name).ok())
                    return errno == EMFILE ? static_cast<int>(i) : 100;
            return 4;
        });
    };
    CHECK(registered(group) == 2);
    CHECK(registered(other) == 4);
    REQUIRE(change_group(group.name() + " max_registrations=3") == succeeds());
    CHECK(registered(group) == 3);
    // The sysctl is the limit of the group default alone.
    Setting sysctl("/proc/sys/kernel/user_events_registrations_max_per_user");
    sysctl.set("1");
    CHECK(registered(group) == 3);
}

TEST_CASE("A registration counts in the group of its event, whichever group a program used first") {
    const Group limited(" max_registrations=2 mode=0666"), other(" max_registrations=3 mode=0666");
    const std::string name = unique_name("limited");
    // How many it may register with each, the first one before the second.
    const auto registered = [&](const Group& first, const Group& second) {
        return in_child([&] {
            become_user(unprivileged_uid);
            Mapping memory(1);
            Word* word = memory.at<Word>();
            DataFile files[] = {first.open(), second.open()};
            int counts[2] = {};
            for (int i = 0; i < 2; i++)
                for (; counts[i] < 9 && files[i].register_event(word, 0, name).ok(); counts[i]++)
                    word++;
            // What it unregisters counts no longer, and in the second group only.
            const bool moved = files[1].unregister(word - 1, 0).ok() &&
                               files[0].register_event(word, 0, name) == fails(EMFILE) &&
                               files[1].register_event(word, 0, name).ok();
            // A child that registers has copies of all, which count too. One that unregisters may
            // have them.
            const int child = in_child([&] {
                return files[0].register_event(word + 1, 0, name) == fails(EMFILE) &&
                       files[1].register_event(word + 1, 0, name) == fails(EMFILE) &&
                       files[1].unregister(word, 0).ok();
            });
            return moved && child == 1 ? counts[0] * 10 + counts[1] : -1;
        });
    };
    CHECK(registered(limited, other) == 23);
    CHECK(registered(other, limited) == 32);
    CHECK(registered(limited, other) == 23);
}

TEST_CASE("The sysctls and the options of the group default are the same limits") {
    const auto [file, option] = GENERATE(table<std::string, std::string>({
        {"user_events_max", "max"},
        {"user_events_max_per_user", "max_per_user"},
        {"user_events_registrations_max_per_user", "max_registrations"},
    }));
    CAPTURE(file);
    const Group other;
    const std::string before = other.line(), path = "/proc/sys/kernel/" + file;
    Setting sysctl(path);
    sysctl.set("77777");
    CHECK(group_line("default").find(" " + option + "=77777 ") != std::string::npos);
    CHECK(change_group("default " + option + "=88888") == succeeds());
    CHECK(read_text(path) == "88888\n");
    CHECK(other.line() == before);
}

TEST_CASE("A group is not removed while a file of it is open, or an event in use") {
    std::optional<Group> group{std::in_place};
    const std::string name = unique_name("used"), link = sysfs_link(group->device());
    const Event event = group->event(name);
    Word word{0};
    std::optional<DataFile> file{group->open()};
    CHECK(group->remove() == fails(EBUSY));
    file->must_register(&word, 0, name);
    file->close();
    CHECK(group->remove() == fails(EBUSY));
    REQUIRE(event.enable() == succeeds(1));
    file.reset();
    CHECK(group->remove() == fails(EBUSY));
    CHECK(event.exists());
    REQUIRE(event.disable() == succeeds(1));
    CHECK(event.wait_removed());
    CHECK(group->remove() == succeeds());
    CHECK(group->remove() == fails(ENOENT));
    CHECK_FALSE(exists(group->device()));
    CHECK_FALSE(exists(link));
    CHECK(group->line().empty());
}

TEST_CASE("Removing a group removes its persistent events, all or none") {
    const Group group;
    Word word{0};
    std::optional<DataFile> file{group.open()};
    const std::string topic = unique_name("stays");
    std::vector<Event> events;
    for (unsigned i = 0; i < 5; i++) {
        events.push_back(group.event(topic + std::to_string(i)));
        file->must_register(&word, i, events[i].name(), 4, USER_EVENT_REG_PERSIST);
    }
    file.reset();
    REQUIRE(events[3].enable() == succeeds(1));
    CHECK(group.remove() == fails(EBUSY));
    for (const Event& event : events)
        CHECK(event.exists());
    // Nothing is left behind by the attempt.
    CHECK(group.open().delete_event(events[0].name()) == succeeds());
    REQUIRE(events[3].disable() == succeeds(1));
    CHECK(eventually([&] { return group.remove().ok(); }));
    for (const Event& event : events)
        CHECK_FALSE(event.exists());
}

TEST_CASE("A node of a removed group leads nowhere, also when the group is added again") {
    const std::string name = unique_name("again");
    std::optional<Group> group{std::in_place, "", name};
    const auto number = about(group->device()).st_rdev;
    const Node node(number);
    CHECK(error_of_open(node.path()) == 0);
    REQUIRE(group->remove() == succeeds());
    CHECK(error_of_open(node.path()) == ENODEV);
    group.emplace("", name);
    CHECK(about(group->device()).st_rdev != number);
    CHECK(error_of_open(node.path()) == ENODEV);
    CHECK(error_of_open(group->device()) == 0);
    // Nor do others get the number soon.
    for (unsigned i = 0; i < 20; i++) {
        const Group more;
        CHECK(about(more.device()).st_rdev != number);
    }
}

TEST_CASE("Groups get consecutive numbers, of which the module has a million") {
    constexpr unsigned last = (1u << 20) - 1;
    const Group first, second;
    const dev_t one = about(first.device()).st_rdev, next = about(second.device()).st_rdev;
    // 0 is that of the default group.
    CHECK(minor(next) == (minor(one) == last ? 1 : minor(one) + 1));
    // Opening a number that no module has fails with ENXIO.
    const Node of_none(makedev(major(one), minor(one) < last - 1 ? last : last - 2));
    CHECK(error_of_open(of_none.path()) == ENODEV);
}

TEST_CASE("Malformed groups, and names that collide with those of other systems, are EINVAL") {
    const Group group;
    const std::string name = unique_name("bad"), valid = group.name() + " ";
    for (const std::string& text :
         {std::string("a.b"),       std::string("a-b"),      std::string("a/b"),
          std::string("../a"),      std::string("\xc3\xa4"), std::string(33, 'a'),
          std::string("multi"),     name + " max",           name + " max=",
          name + " max=-1",         name + " max=x",         name + " max=4294967296",
          name + " max=1 max=2",    name + " mode=8",        name + " mode=1000",
          name + " uid=4294967295", name + " gid=x",         name + " size=1",
          name + " other",          name + ":max=1",         group.name() + "_multi",
          "!" + valid + "max=1",    std::string("!a.b")}) {
        CAPTURE(text);
        CHECK(change_group(text) == fails(EINVAL));
    }
    for (const char* value : {"max=99999999999999999999", "max= 1", "mode=-1", "mode=0x1ff"})
        CHECK(change_group(name + " " + value) == fails(EINVAL));
    // Longer than a page, and than what one write() takes.
    CHECK(change_group(name + " " + std::string(5000, 'x')) == fails(EINVAL));
    CHECK(change_group(std::string(100'000, 'a')) == fails(EINVAL));
    CHECK(write_text(tracing_file("user_events_groups"), std::string("a\0b", 3), O_APPEND) ==
          fails(EINVAL));
    {
        // In the other order, too.
        const Group multi("", name + "_multi");
        CHECK(change_group(name) == fails(EINVAL));
    }
    CHECK(change_group("!" + name) == fails(ENOENT));
    CHECK(change_group("!default") == fails(EBUSY));
    CHECK(change_group("") == succeeds());
    CHECK(change_group("# a comment") == succeeds());
    CHECK(change_group("  " + valid + "\tmax=9 # a comment") == succeeds());
    CHECK(group.line().starts_with(valid + "max=9 "));
    // The longest name has room for its systems.
    const Group longest("", std::string(32, 'l'));
    Word word{0};
    DataFile file = longest.open();
    file.must_register(&word, 0, "e", 4, USER_EVENT_REG_MULTI_FORMAT);
    CHECK(Event("e.0", longest.system() + "_multi").exists());
}

TEST_CASE("Of several lines in one write, those before a bad one have their effect") {
    const std::string name = unique_name("line");
    CHECK(write_text(tracing_file("user_events_groups"),
                     name + "\n" + name + "_b x\n" + name + "_c\n", O_APPEND) == fails(EINVAL));
    CHECK(exists(group_device(name)));
    CHECK_FALSE(exists(group_device(name + "_c")));
    CHECK(change_group("!" + name) == succeeds());
}

TEST_CASE(
    "Emptying user_events_groups removes all groups but those in use, and the default group") {
    std::optional<Group> used{std::in_place};
    std::optional<DataFile> file{used->open()};
    const std::string idle = unique_name("idle");
    REQUIRE(change_group(idle) == succeeds());
    CHECK(write_text(tracing_file("user_events_groups"), "", O_TRUNC) == fails(EBUSY));
    CHECK_FALSE(exists(group_device(idle)));
    CHECK(exists(used->device()));
    file.reset();
    CHECK(write_text(tracing_file("user_events_groups"), idle + "\n", O_TRUNC).ok());
    CHECK_FALSE(exists(used->device()));
    CHECK(exists(group_device(idle)));
    CHECK(exists(device));
    CHECK(change_group("!" + idle) == succeeds());
}

TEST_CASE("A file keeps its group in a child, and in a process to which it is passed") {
    const Group group;
    const std::string name = unique_name("passed");
    Child child([&](Channel& channel) {
        const DataFile passed(channel.receive_descriptor());
        DataFile file(Descriptor(dup(passed.descriptor())));
        Word word{0};
        file.must_register(&word, 0, name);
        channel.send('r');
        channel.receive<char>();
        return word == 1 && file.record(0).ok() ? 0 : 1;
    });
    child.channel().send_descriptor(group.open().descriptor());
    REQUIRE(child.channel().receive<char>() == 'r');
    CHECK(status_line(name).empty());
    {
        const Enabled enabled{group.event(name)};
        child.channel().send('w');
        CHECK(child.wait() == 0);
    }
    DataFile file = group.open();
    const int inherited = in_child([&] {
        Word word{0};
        return file.register_event(&word, 0, name).ok() && status_line(name).empty() ? 0 : 1;
    });
    CHECK(inherited == 0);
}

TEST_CASE("A child inherits registrations in groups, and keeps them apart") {
    const Group group, other;
    const std::string name = unique_name("inherited");
    Mapping memory(1);
    Word *const first = memory.at<Word>(), *const second = first + 1;
    DataFile files[] = {group.open(), other.open()};
    files[0].must_register(first, 0, name + " u32 a");
    files[1].must_register(second, 0, name + " u32 b");
    Child child([&](Channel& channel) {
        while (channel.receive<char>() == 'w')
            channel.send(std::array{static_cast<int>(*first), static_cast<int>(*second),
                                    files[0].record(0, Payload().add(1u)).error(),
                                    files[1].record(0, Payload().add(2u)).error()});
        return files[0].unregister(first, 0).ok() ? 0 : 1;
    });
    const auto seen = [&] { return child.channel().ask<std::array<int, 4>>('w'); };
    Instance instance;
    CHECK(seen() == std::array{0, 0, EBADF, EBADF});
    {
        const Enabled enabled{group.event(name)};
        CHECK(eventually([&] { return seen() == std::array{1, 0, 0, EBADF}; }));
    }
    REQUIRE(instance.enable(other.event(name)) == succeeds());
    CHECK(eventually([&] { return seen() == std::array{0, 1, EBADF, 0}; }));
    REQUIRE(instance.disable(other.event(name)) == succeeds());
    for (const Record& record : instance.records())
        CHECK(record.number("b") == 2);
    // What the child has inherited keeps the event of the parent, too.
    CHECK(files[0].unregister(first, 0) == succeeds());
    CHECK(group.event(name).exists());
    child.channel().send('e');
    CHECK(child.wait() == 0);
    CHECK(other.event(name).exists());
}

TEST_CASE("The exit of a process removes its events of a group, also after SIGKILL") {
    const Group group;
    const std::string name = unique_name("exits");
    Child child([&](Channel& channel) {
        Word word{0};
        DataFile file = group.open();
        file.must_register(&word, 0, name);
        channel.send('r');
        channel.receive<char>();
        return 0;
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    CHECK(group.line().ends_with(" # events 1, busy 0, lost 0, suppressed 0, users 1"));
    child.kill();
    CHECK(group.event(name).wait_removed());
    CHECK(eventually([&] {
        return group.line().ends_with(" # events 0, busy 0, lost 0, suppressed 0, users 0");
    }));
}

TEST_CASE(
    "io_uring writes to the device of a group, in one part, in several and from fixed memory") {
    const Group group, other;
    const std::string name = unique_name("ring");
    Mapping memory(1);
    DataFile file = group.open(), neighbour = other.open();
    file.must_register(memory.at<Word>(), 0, name + " u32 a");
    IoUring ring;
    ring.register_memory(memory);
    const auto bytes = [&](std::uint32_t number) {
        auto* const at = memory.at<std::uint32_t>() + 16;
        at[0] = 0;
        at[1] = number;
        return at;
    };
    constexpr std::size_t size = 2 * sizeof(std::uint32_t);
    CHECK(ring.write(file.descriptor(), bytes(0), size) == fails(EBADF));
    Instance instance;
    REQUIRE(instance.enable(group.event(name)) == succeeds());
    CHECK(ring.write(file.descriptor(), bytes(1), size) == succeeds(size));
    std::uint32_t* const at = bytes(2);
    const iovec parts[] = {{at, sizeof(*at)}, {at + 1, sizeof(*at)}};
    CHECK(ring.writev(file.descriptor(), parts, 2) == succeeds(size));
    CHECK(ring.write_fixed(file.descriptor(), bytes(3), size) == succeeds(size));
    CHECK(ring.write(neighbour.descriptor(), bytes(4), size) == fails(ENOENT));
    std::vector<long> numbers;
    for (const Record& record : instance.records())
        numbers.push_back(static_cast<long>(record.number("a")));
    CHECK(numbers == std::vector<long>{1, 2, 3});
    REQUIRE(instance.disable(group.event(name)) == succeeds());
}

TEST_CASE("The numbers of formats begin at 0 again in a group that was added again") {
    const std::string name = unique_name("renewed");
    for (int round = 0; round < 2; round++) {
        const Group group("", name);
        Word word{0};
        DataFile file = group.open();
        file.must_register(&word, 0, "event", 4, USER_EVENT_REG_MULTI_FORMAT);
        CHECK(Event("event.0", group.system() + "_multi").exists());
    }
}

TEST_CASE("Files of different groups do not share indexes") {
    const Group group, other;
    DataFile file = group.open(), same = group.open(), neighbour = other.open(), common;
    CHECK(file.share_indexes(neighbour) == fails(EXDEV));
    CHECK(file.share_indexes(common) == fails(EXDEV));
    CHECK(common.share_indexes(file) == fails(EXDEV));
    CHECK(open_device().share_indexes(common) == succeeds());
    CHECK(same.share_indexes(file) == succeeds());
}

TEST_CASE(
    "The records of the last 1023 removed events of a group are printed, and of no older one") {
    const Group group;
    Instance instance;
    const Event first = group.event(unique_name("first")), next = group.event(unique_name("next"));
    Word word{0};
    Mapping memory(1);
    const auto remove_more = [&](unsigned count) {
        DataFile file = group.open();
        for (unsigned i = 0; i < count; i++)
            file.must_register(memory.at<Word>() + i, 0, unique_name("removed"));
        const std::string enable = instance.path("events/" + group.system() + "/enable");
        REQUIRE(write_text(enable, "1").ok());
        REQUIRE(write_text(enable, "0").ok());
    };
    int number = 0;
    {
        DataFile file = group.open();
        const std::uint32_t index = file.must_register(&word, 0, first.name() + " u32 a");
        number = first.id();
        REQUIRE(instance.enable(first) == succeeds());
        REQUIRE(file.record(index, Payload().add(7u)) == succeeds(8));
        REQUIRE(instance.disable(first) == succeeds());
    }
    REQUIRE(first.wait_removed());
    const auto printed = [&] {
        return read_text(instance.path("trace")).find(first.name() + ": a=7\n") !=
               std::string::npos;
    };
    // 1022 more.
    for (int i = 0; i < 7; i++)
        remove_more(146);
    // This one does not take over the number of the first one.
    remove_more(1);
    CHECK(printed());
    DataFile file = group.open();
    file.must_register(&word, 0, next.name());
    CHECK(next.id() == number);
    CHECK_FALSE(printed());
}

TEST_CASE("Records of a removed group are still printed, and of a group with which others churn") {
    const std::string name = unique_name("printed");
    Instance instance;
    const auto record = [&](const Group& group) {
        Word word{0};
        DataFile file = group.open();
        file.must_register(&word, 0, name + " u32 a");
        expect(instance.enable(group.event(name)), "enable");
        expect(file.record(0, Payload().add(77u)), "record");
        expect(instance.disable(group.event(name)), "disable");
    };
    std::optional<Group> removed{std::in_place};
    const Group group;
    record(*removed);
    record(group);
    removed.reset();
    const auto printed = [&] {
        const std::string text = read_text(instance.path("trace")), line = name + ": a=77";
        return text.find(line) != text.rfind(line) && text.find(line) != std::string::npos;
    };
    CHECK(printed());

    // More than 1024 in each, and more than 4096 in all.
    const unsigned batch = 100;
    for (unsigned churned = 0; churned < fewer_if_debug(5); churned++) {
        const Group churning;
        const std::string enable = instance.path("events/" + churning.system() + "/enable");
        Mapping memory(1);
        for (unsigned done = 0; done < fewer_if_debug(1200); done += batch) {
            DataFile file = churning.open();
            for (unsigned i = 0; i < batch; i++)
                file.must_register(memory.at<Word>() + i, 0, unique_name("churned"));
            REQUIRE(write_text(enable, "1").ok());
            REQUIRE(write_text(enable, "0").ok());
        }
    }
    CHECK(printed());
}

namespace {

/// Writes one line to dynamic_events without deleting the events in it. A success has the value 0.
Outcome dynamic(const std::string& line) {
    const Outcome outcome = write_text(tracing_file("dynamic_events"), line + "\n", O_APPEND);
    return outcome.ok() ? succeeds() : outcome;
}

} // namespace

TEST_CASE("dynamic_events creates, lists and deletes events of groups by their systems") {
    const Group group;
    const std::string name = unique_name("dynamic"), path = group.system() + "/" + name;
    const Event event = group.event(name), common(name);
    REQUIRE(dynamic("u:" + path + " u32 a; u32 b") == succeeds());
    CHECK(event.exists());
    CHECK_FALSE(common.exists());
    CHECK(has_line(read_text(tracing_file("dynamic_events")), "u:" + path + " u32 a; u32 b"));
    CHECK(has_line(group.status(), name));
    CHECK(dynamic("u:" + path + " u64 a") == fails(EADDRINUSE));
    REQUIRE(dynamic("u:" + name + " u64 a") == succeeds());
    REQUIRE(dynamic("u:user_events/" + name + " u64 a") == succeeds());
    CHECK(has_line(read_text(tracing_file("dynamic_events")), "u:" + name + " u64 a"));

    // Without a system, a line is about the default group.
    REQUIRE(dynamic("-:" + name) == succeeds());
    CHECK(event.exists());
    CHECK_FALSE(common.exists());
    CHECK(dynamic("-:" + name) == fails(ENOENT));
    CHECK(dynamic("-:" + path + " u64 a") == fails(ENOENT));
    CHECK(dynamic("-:" + path + " u32 a; u32 b") == succeeds());
    CHECK_FALSE(event.exists());

    Word word{0};
    DataFile file = group.open();
    file.must_register(&word, 0, name, 4, USER_EVENT_REG_PERSIST | USER_EVENT_REG_MULTI_FORMAT);
    CHECK(has_line(read_text(tracing_file("dynamic_events")),
                   "u:" + group.system() + "_multi/" + name));
    CHECK(dynamic("-:" + group.system() + "_multi/" + name + ".0") == fails(EBUSY));
}

TEST_CASE("dynamic_events rejects a system of no group, and leaves no group in use") {
    const Group group;
    const std::string name = unique_name("nowhere");
    for (const std::string& system :
         {group.system() + "x", group.system().substr(0, group.system().size() - 1),
          group.system() + "_multi", std::string("user_events_"), std::string(""),
          std::string("sched"), std::string("user_events_multi")}) {
        CAPTURE(system);
        CHECK(dynamic(std::string("u:").append(system).append("/").append(name)) == fails(EINVAL));
    }
    CHECK(dynamic("u:" + group.system() + "/" + name + " bad") == fails(EINVAL));
    CHECK(dynamic("u:" + group.system() + "/" + std::string(512, 'n')) == fails(EINVAL));
    CHECK(group.line().ends_with(", users 0"));
    // A '/' in a field is none behind a system, whatever white space is before it.
    for (const char* space : {" ", "\t", "\v", "\f", "\r"}) {
        CHECK(dynamic(std::string("u:").append(name).append(space) + "struct a/b c 3") ==
              succeeds());
        CHECK(dynamic("-:" + name) == succeeds());
    }
}

TEST_CASE("A rule is for the default group, the group or the systems that it names") {
    const std::string name = unique_name("ruled");
    const Group group, other;
    const std::vector<Event> events = {Event(name), group.event(name), other.event(name)};
    Word words[3] = {};
    DataFile files[] = {DataFile(), group.open(), other.open()};
    const auto enabled_by = [&](const std::string& rule) {
        Instance instance;
        const Rule added(rule + " instance=" + instance.name());
        std::string enabled;
        for (const Event& event : events)
            enabled += read_text(instance.path(event, "enable"))[0];
        return enabled;
    };
    // Events that exist when the rule is added, and events that are created later.
    Instance instance;
    const std::string to = " instance=" + instance.name();
    const std::string prefix = name.substr(0, name.size() - 1) + "*";
    std::string created;
    {
        const Rule rule(prefix + " group=" + other.name() + to);
        for (unsigned i = 0; i < 3; i++) {
            files[i].must_register(&words[i], 0, name);
            created += words[i] ? '1' : '0';
        }
        CHECK(rule.comment() == "applied to 1");
    }
    CHECK(created == "001");
    CHECK(enabled_by(name) == "100");
    CHECK(enabled_by(name + " group=default") == "100");
    CHECK(enabled_by("* group=" + group.name()) == "010");
    CHECK(enabled_by("* group=" + group.name() + "x") == "000");
    CHECK(enabled_by(other.system() + ":*") == "001");
    CHECK(enabled_by("user_events_*:" + name) == "011");
    CHECK(enabled_by("*:" + name) == "111");
    CHECK(enabled_by("*:* group=" + group.name()) == "010");
    CHECK(enabled_by(other.system() + ":* group=" + group.name()) == "000");
    CHECK(change_rule(name + " group=a.b") == fails(EINVAL));
    CHECK(change_rule(name + " group=") == fails(EINVAL));
}

TEST_CASE(
    "A rule for a group that does not exist yet records its events from the first record on") {
    const std::string name = unique_name("later");
    Instance instance;
    std::optional<Rule> rule("* group=" + name + " instance=" + instance.name());
    CHECK(rule->comment() == "applied to 0");
    const Group group("", name), other;
    Word word{0};
    DataFile file = group.open(), neighbour = other.open();
    file.must_register(&word, 0, "event u32 a");
    neighbour.must_register(&word, 1, "event u32 a");
    CHECK(word == 1);
    CHECK(file.record(0, Payload().add(7u)) == succeeds(8));
    const std::vector<Record> records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("a") == 7);
    CHECK(rule->comment() == "applied to 1");
    // The destructor of the group waits until nothing records its event.
    rule.reset();
}

TEST_CASE("The parameter groups= adds groups when the module is loaded") {
    const module::Loaded loaded;
    REQUIRE(eventually([] { return module::unload().ok(); }));
    REQUIRE(module::load("groups=\"first max=3; second uid=7;bad/name; default mode=0644\"") ==
            succeeds());
    CHECK(group_line("first").starts_with("first max=3 "));
    CHECK(about(group_device("second")).st_uid == 7);
    CHECK(about(device).st_mode == (S_IFCHR | 0644));
    std::optional<DataFile> file{open_group("first")};
    CHECK(module::unload_is_refused());
    file.reset();
    REQUIRE(eventually([] { return module::unload().ok(); }));
    CHECK_FALSE(exists("/dev/user_events"));
    CHECK_FALSE(exists("/sys/class/user_events"));
}

TEST_CASE(
    "A mount and a node of a group lead nowhere after the module was unloaded, also when it is "
    "loaded with such a group again") {
    const module::Loaded loaded;
    const std::string name = unique_name("reloaded");
    REQUIRE(change_group(name) == succeeds());
    const BindMount mounted(group_device(name));
    const Node node(about(group_device(name)).st_rdev);
    CHECK(error_of_open(mounted.path()) == 0);
    CHECK(error_of_open(node.path()) == 0);
    REQUIRE(eventually([] { return module::unload().ok(); }));
    CHECK(error_of_open(mounted.path()) == ENXIO);
    CHECK(error_of_open(node.path()) == ENXIO);
    REQUIRE(module::load("groups=" + name) == succeeds());
    CHECK(error_of_open(mounted.path()) == ENODEV);
    CHECK(error_of_open(node.path()) == ENODEV);
    CHECK(error_of_open(group_device(name)) == 0);
    CHECK(change_group("!" + name) == succeeds());
}

TEST_CASE("The module can be unloaded with groups that have persistent events") {
    const module::Loaded loaded;
    for (unsigned i = 0; i < 10; i++) {
        const std::string name = unique_name("kept");
        REQUIRE(change_group(name) == succeeds());
        Word word{0};
        DataFile file = open_group(name);
        file.must_register(&word, 0, "event", 4, USER_EVENT_REG_PERSIST);
        file.must_register(&word, 1, "event", 4,
                           USER_EVENT_REG_PERSIST | USER_EVENT_REG_MULTI_FORMAT);
        const Enabled enabled{Event("event", "user_events_" + name)};
        CHECK(file.record(0).ok());
    }
    REQUIRE(eventually([] { return module::unload().ok(); }));
}

TEST_CASE("A group can be removed while its persistent events are enabled and disabled", "[race]") {
    const unsigned count = 64;
    unsigned busy = 0, incomplete = 0;
    for (Rounds rounds(3, 30, std::chrono::seconds(10)); rounds.next();) {
        const Group group;
        {
            Mapping memory(1);
            DataFile file = group.open();
            for (unsigned i = 0; i < count; i++)
                file.must_register(memory.at<Word>() + i, 0, "event" + std::to_string(i), 4,
                                   USER_EVENT_REG_PERSIST);
        }
        std::atomic<unsigned> changes{0};
        std::atomic<bool> stop{false};
        std::jthread administrator([&] {
            const Event last = group.event("event" + std::to_string(count - 1));
            for (; !stop; changes++) {
                last.enable();
                last.disable();
            }
        });
        CHECK(eventually([&] { return changes > 0; }));
        CHECK(eventually([&] {
            const Outcome outcome = group.remove();
            busy += outcome == fails(EBUSY);
            // All events are there, or none.
            incomplete += group.event("event0").exists() == outcome.ok();
            return outcome.ok();
        }));
        stop = true;
    }
    CAPTURE(busy);
    CHECK(incomplete == 0);
}

namespace {

/// Returns the open file after it was in the queue of a socket. Meanwhile, nothing else has it
/// open.
Descriptor passed_on(Descriptor file) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        throw_errno("socketpair");
    Channel from{Descriptor(ends[0])}, to{Descriptor(ends[1])};
    from.send_descriptor(file.number());
    file.close();
    return to.receive_descriptor();
}

/// What a program does with a file of a group. Returns whether all of it has a valid outcome.
/// Others do the same with the same events.
bool use(DataFile file, Word& word) {
    const Outcome left = file.delete_event("kept");
    user_reg reg = registration(&word, 0, "event u32 a");
    const Outcome registered = file.register_event(reg);
    const Outcome recorded = file.record(reg.write_index, Payload().add(1u));
    user_reg keeping = registration(&word, 1, "kept", 4, USER_EVENT_REG_PERSIST);
    const Outcome kept = file.register_event(keeping), own = file.delete_event("event"),
                  unregistered = file.unregister(&word, 1), others = file.delete_event("kept");
    return (left.ok() || left == fails(EBUSY) || left == fails(ENOENT)) && registered.ok() &&
           (recorded.ok() || recorded == fails(EBADF)) && kept.ok() && own == fails(EBUSY) &&
           unregistered.ok() && others == fails(EBUSY);
}

} // namespace

TEST_CASE("Groups can be added and removed while programs open them, pass the files on, register, "
          "write and delete",
          "[race]") {
    const std::string name = unique_name("race");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> registered{0}, missed{0}, wrong{0};
    std::vector<std::jthread> threads(3);
    for (std::jthread& each : threads)
        each = std::jthread([&] {
            Word word{0};
            // Between two rounds, the group may be unused.
            for (; !stop; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
                Descriptor opened(::open(group_device(name).c_str(), O_RDWR | O_CLOEXEC));
                if (opened.number() < 0)
                    (errno == ENOENT || errno == ENODEV ? missed : wrong)++;
                else
                    (use(DataFile(passed_on(std::move(opened))), word) ? registered : wrong)++;
            }
        });
    unsigned removed = 0, busy = 0;
    for (Rounds rounds(20, 200, std::chrono::seconds(10)); rounds.next();) {
        CHECK(change_group(name) == succeeds());
        const unsigned before = registered;
        CHECK(eventually([&] { return registered > before; }));
        CHECK(eventually([&] {
            const Outcome outcome = change_group("!" + name);
            busy += outcome == fails(EBUSY);
            return outcome.ok();
        }));
        removed++;
    }
    stop = true;
    threads.clear();
    CHECK(wrong == 0);
    CHECK(removed >= 20);
    CHECK_FALSE(exists(group_device(name)));
}
