// SPDX-License-Identifier: GPL-2.0-only
// The limits of events and of registrations in /proc/sys/kernel: reaching and changing them.
#include "as_user.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "mapping.hpp"
#include "setting.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"
#include "userfault.hpp"

#include <linux/capability.h>
#include <map>
#include <optional>
#include <thread>

using namespace selftest;

namespace {

/// Access to a limit, which the destructor restores.
class Limit {
public:
    explicit Limit(const std::string& name = "user_events_max")
        : path_("/proc/sys/kernel/" + name), before_(read()) {}
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;
    ~Limit() { set(before_); }

    unsigned long before() const { return before_; }

    unsigned long read() const { return std::stoul(read_text(path_)); }
    Outcome set(unsigned long limit) const {
        const std::string text = std::to_string(limit);
        const Outcome written = write_text(path_, text);
        return written == succeeds(static_cast<long>(text.size())) ? succeeds() : written;
    }

private:
    const std::string path_;
    const unsigned long before_;
};

/// The number of lines per event name.
using Listing = std::map<std::string, unsigned>;

/// Counts the lines of a file that start with `prefix` and `topic`, by the name after the prefix.
Listing listing(const std::string& file, const std::string& prefix, const std::string& topic) {
    Listing listed;
    for (const std::string& line : lines_of(read_text(tracing_file(file))))
        if (line.starts_with(prefix + topic))
            listed[line.substr(prefix.size(), line.find(' ') - prefix.size())]++;
    return listed;
}

/// Numbered events of a topic. Every fourth one is persistent; the destructor deletes it.
class Numbered {
public:
    explicit Numbered(std::string topic) : topic_(std::move(topic)) {}
    ~Numbered() {
        file_.reset();
        DataFile deleting;
        for (std::size_t number = 0; number < count_; number++)
            if (is_persistent(number))
                deleting.delete_event(name(number));
    }

    static bool is_persistent(std::size_t number) { return number % 4 == 0; }
    std::string name(std::size_t number) const { return topic_ + "_" + std::to_string(number); }
    std::size_t count() const { return count_; }

    /// Registers the next event.
    Outcome add() {
        const unsigned flags = is_persistent(count_) ? USER_EVENT_REG_PERSIST : 0;
        const Outcome outcome =
            file_->register_event(memory_.at(count_ / 32 * 4), count_ % 32, name(count_), 4, flags);
        count_ += outcome.ok();
        return outcome;
    }

    /// Unregisters all events and closes the file.
    void release() { file_.reset(); }

private:
    const std::string topic_;
    Mapping memory_{2};
    std::optional<DataFile> file_{std::in_place};
    std::size_t count_ = 0;
};

} // namespace

TEST_CASE("Up to the limit, events can be registered, listed, removed and deleted", "[long]") {
    const std::string topic = unique_name("maximum");
    const unsigned long active = stable_status_count("Active: ");
    const Limit limit;
    REQUIRE(limit.before() == 32768);
    const std::size_t maximum = fewer_if_not_6_12(32768, 4096);
    REQUIRE(limit.set(maximum) == succeeds());
    Numbered events(topic);
    Outcome outcome = succeeds();
    while (outcome.ok() && events.count() <= maximum)
        outcome = events.add();
    // Events that existed before the test count towards the limit.
    CHECK(outcome == fails(EMFILE));
    CHECK(events.count() == maximum - active);
    CHECK(status_count("Active: ") == maximum);

    Listing all, persistent;
    for (std::size_t number = 0; number < events.count(); number++) {
        all[events.name(number)] = 1;
        if (Numbered::is_persistent(number))
            persistent[events.name(number)] = 1;
    }
    CHECK((listing("user_events_status", "", topic) == all));
    CHECK((listing("dynamic_events", "u:", topic) == all));
    {
        const Event some(events.name(maximum / 2));
        const Enabled enabled{some};
        CHECK(status_line(some.name()) == some.name() + " # Used by ftrace");
        CHECK(status_count("Busy: ") == 1);
    }

    events.release();
    CHECK(eventually([&] { return status_count("Active: ") == active + persistent.size(); }));
    CHECK((listing("user_events_status", "", topic) == persistent));
    CHECK((listing("dynamic_events", "u:", topic) == persistent));

    DataFile deleting;
    std::size_t deleted = 0;
    for (const auto& [name, lines] : persistent)
        deleted += deleting.delete_event(name).ok();
    CHECK(deleted == persistent.size());
    CHECK(listing("user_events_status", "", topic).empty());
    CHECK(listing("dynamic_events", "u:", topic).empty());
    CHECK(status_count("Active: ") == active);
}

TEST_CASE("The limit can be lowered below the number of events and raised again") {
    Word word{0};
    DataFile file, other;
    const Limit limit;
    const std::string name = unique_name("limit");
    const std::string dynamic = "u:" + name + "_dynamic\n";
    REQUIRE(file.register_event(&word, 0, name + "_a u32 a") == succeeds());
    REQUIRE(file.register_event(&word, 1, name + "_b") == succeeds());
    REQUIRE(file.register_event(&word, 2, name + "_c u32 a", 4, USER_EVENT_REG_MULTI_FORMAT) ==
            succeeds());

    REQUIRE(limit.set(2) == succeeds());
    CHECK(limit.read() == 2);
    CHECK(file.register_event(&word, 3, name + "_d") == fails(EMFILE));
    CHECK(file.register_event(&word, 3, name + "_c", 4, USER_EVENT_REG_MULTI_FORMAT) ==
          fails(EMFILE));
    CHECK(write_text(tracing_file("dynamic_events"), dynamic, O_APPEND) == fails(EMFILE));
    CHECK(status_line(name + "_d").empty());
    CHECK(status_line(name + "_dynamic").empty());
    CHECK(file.unregister(&word, 3) == fails(ENOENT));

    // Existing events can still be registered and recorded.
    CHECK(other.register_event(&word, 3, name + "_a u32 a") == succeeds());
    CHECK(other.register_event(&word, 4, name + "_c u32 a", 4, USER_EVENT_REG_MULTI_FORMAT) ==
          succeeds());
    const std::uint32_t index = other.must_register(&word, 5, name + "_b");
    {
        const Enabled enabled{Event(name + "_b")};
        CHECK(word == (1u << 1 | 1u << 5));
        CHECK(other.record(index) == succeeds(4));
    }

    REQUIRE(limit.set(limit.before()) == succeeds());
    CHECK(file.register_event(&word, 6, name + "_d") == succeeds());
    CHECK(Event(name + "_d").exists());
    CHECK(file.register_event(&word, 7, name + "_c", 4, USER_EVENT_REG_MULTI_FORMAT) == succeeds());
}

TEST_CASE("When the limit is reached, each removed event allows a new one") {
    Word word{0};
    const Limit limit;
    const std::string name = unique_name("next");
    REQUIRE(limit.set(stable_status_count("Active: ") + 1) == succeeds());
    for (int round = 0; round < 5; round++) {
        CAPTURE(round);
        const Event event(name + "_" + std::to_string(round));
        DataFile file;
        CHECK(file.register_event(&word, 0, event.name()) == succeeds());
        CHECK(file.register_event(&word, 1, name) == fails(EMFILE));
        CHECK(file.unregister(&word, 0) == succeeds());
        file.close();
        CHECK(event.wait_removed());
    }
}

namespace {

constexpr const char* per_user = "user_events_max_per_user";
constexpr uid_t one_user = unprivileged_uid, other_user = unprivileged_uid - 1;

/// Registers an event as a user without capabilities. Returns the outcome.
Outcome register_as(uid_t user, DataFile& file, Word& word, unsigned bit,
                    const std::string& command, unsigned flags = 0) {
    const AsUser as(user);
    return file.register_event(&word, bit, command, 4, flags);
}

} // namespace

TEST_CASE(
    "A user without CAP_PERFMON and CAP_SYS_ADMIN can create user_events_max_per_user events") {
    constexpr unsigned multi = USER_EVENT_REG_MULTI_FORMAT;
    Word word{0};
    DataFile file, other;
    const Limit limit(per_user);
    CHECK(limit.before() == 8192);
    const std::string name = unique_name("of_user");
    const Descriptor dynamic_events =
        Descriptor::open(tracing_file("dynamic_events"), O_WRONLY | O_APPEND);
    REQUIRE(other.register_event(&word, 0, name + "_root") == succeeds());
    REQUIRE(limit.set(3) == succeeds());
    CHECK(register_as(one_user, file, word, 1, name + "_a u32 a") == succeeds());
    CHECK(register_as(one_user, file, word, 2, name + "_b") == succeeds());
    CHECK(register_as(one_user, file, word, 3, name + "_a u32 a", multi) == succeeds());
    CHECK(register_as(one_user, file, word, 4, name + "_c") == fails(EMFILE));
    CHECK(register_as(one_user, file, word, 4, name + "_a u64 a", multi) == fails(EMFILE));
    {
        const AsUser as(one_user);
        const std::string line = "u:" + name + "_c";
        CHECK(Outcome::of(write(dynamic_events.number(), line.data(), line.size())) ==
              fails(EMFILE));
    }
    CHECK(status_line(name + "_c").empty());
    CHECK(file.unregister(&word, 4) == fails(ENOENT));

    // Existing events can still be registered, whichever user has created them.
    CHECK(register_as(one_user, file, word, 5, name + "_root") == succeeds());
    CHECK(register_as(one_user, file, word, 6, name + "_a u32 a", multi) == succeeds());
    // Other users are not affected, nor those with a capability.
    CHECK(register_as(other_user, other, word, 7, name + "_c") == succeeds());
    CHECK(other.register_event(&word, 8, name + "_d") == succeeds());
    for (unsigned capability : {CAP_PERFMON, CAP_SYS_ADMIN}) {
        CAPTURE(capability);
        CHECK(in_child([&] {
                  become_user(one_user, {capability});
                  return file.register_event(&word, 9, name + "_e").error();
              }) == 0);
    }
    REQUIRE(limit.set(4) == succeeds());
    CHECK(register_as(one_user, file, word, 10, name + "_f") == fails(EMFILE));
    REQUIRE(limit.set(6) == succeeds());
    CHECK(register_as(one_user, file, word, 10, name + "_f") == succeeds());
}

TEST_CASE("An event counts for its creator until it is removed") {
    Word word{0};
    const Limit limit(per_user);
    const std::string name = unique_name("counted");
    REQUIRE(limit.set(2) == succeeds());
    std::optional<DataFile> keeping;
    for (int round = 0; round < 5; round++) {
        CAPTURE(round);
        const std::string first = name + "_first", second = name + "_second";
        {
            DataFile file;
            keeping.emplace();
            CHECK(register_as(one_user, file, word, 0, first) == succeeds());
            CHECK(register_as(one_user, file, word, 1, second) == succeeds());
            CHECK(register_as(one_user, file, word, 2, name) == fails(EMFILE));
            // Root becomes a user of the event, but not its creator.
            CHECK(keeping->register_event(&word, 3, first) == succeeds());
        }
        CHECK(Event(second).wait_removed());
        DataFile file;
        CHECK(register_as(one_user, file, word, 0, name) == succeeds());
        CHECK(register_as(one_user, file, word, 1, second) == fails(EMFILE));
        keeping.reset();
        CHECK(Event(first).wait_removed());
        CHECK(register_as(one_user, file, word, 1, second) == succeeds());
    }
}

TEST_CASE("A registration that fails does not count towards the limit of its user") {
    Word word{0};
    Mapping unwritable(1, PROT_READ);
    DataFile file;
    const Limit limit(per_user);
    const std::string name = unique_name("failed");
    REQUIRE(limit.set(2) == succeeds());
    for (int round = 0; round < 10; round++) {
        CHECK(register_as(one_user, file, word, 0, name + " nonsense a") == fails(EINVAL));
        CHECK(register_as(one_user, file, *unwritable.at<Word>(), 0, name) == fails(EFAULT));
        CHECK(register_as(one_user, file, *unwritable.at<Word>(), 0, name,
                          USER_EVENT_REG_MULTI_FORMAT) == fails(EFAULT));
    }
    CHECK(Event(name).wait_removed());
    CHECK(register_as(one_user, file, word, 0, name) == succeeds());
    CHECK(register_as(one_user, file, word, 1, name + "_other") == succeeds());
    CHECK(register_as(one_user, file, word, 2, name + "_third") == fails(EMFILE));
}

TEST_CASE("An event created through dynamic_events counts for the user that wrote the line") {
    const Limit limit(per_user);
    const std::string name = unique_name("line");
    const Descriptor file = Descriptor::open(tracing_file("dynamic_events"), O_WRONLY | O_APPEND);
    const auto write_as_user = [&](const std::string& line) {
        const AsUser as(one_user);
        return Outcome::of(write(file.number(), line.data(), line.size()));
    };
    REQUIRE(limit.set(1) == succeeds());
    for (int round = 0; round < 3; round++) {
        CHECK(write_as_user("u:" + name + "_a").ok());
        CHECK(write_as_user("u:" + name + "_b") == fails(EMFILE));
        CHECK(write_as_user("u:" + name + "_a").ok());
        CHECK(DataFile().delete_event(name + "_a") == succeeds());
        CHECK(write_as_user("u:" + name + "_b").ok());
        CHECK(write_as_user("-:" + name + "_b").ok());
    }
}

namespace {

constexpr const char* registrations_per_user = "user_events_registrations_max_per_user";

/// Registers bits of a word from `first` on until one fails. Returns their number if it fails with
/// EMFILE, and otherwise -1.
int register_until_limit(DataFile& file, Word& word, const std::string& event, unsigned first = 0) {
    unsigned bit = first;
    Outcome outcome = succeeds();
    while (bit < 32 && outcome.ok())
        if (outcome = file.register_event(&word, bit, event); outcome.ok())
            bit++;
    return outcome == fails(EMFILE) ? static_cast<int>(bit - first) : -1;
}

/// A process of a user that registers as many bits as it can, says how many, and keeps them.
/// Registers one less if it is asked to.
class Holder {
public:
    Holder(uid_t user, const std::string& event)
        : child_([user, event](Channel& channel) {
              Word word{0};
              DataFile file;
              become_user(user);
              channel.send(register_until_limit(file, word, event));
              for (;;) {
                  channel.receive<bool>();
                  channel.send(file.unregister(&word, 0).error());
              }
              return 0;
          }) {}

    int count() { return child_.channel().receive<int>(); }
    int unregister_one() { return child_.channel().ask<int>(true); }
    void kill() { child_.kill(); }

private:
    Child child_;
};

int count_of_another(uid_t user, const std::string& event) {
    return Holder(user, event).count();
}

/// A registration of a thread that waits, after the bit is registered, until it can store the
/// write index.
class StoppedRegistration {
public:
    StoppedRegistration(DataFile& file, const user_reg& reg) {
        *memory_.at<user_reg>() = reg;
        fault_.emplace(memory_, Userfault::Kind::write_protect);
        thread_ = std::jthread(
            [this, &file] { outcome_ = file.register_event(*memory_.at<user_reg>()); });
    }

    bool is_stopped() const { return fault_->has_waiter(); }
    /// Makes the memory read-only and the thread go on. Returns the outcome.
    Outcome fail() {
        memory_.protect(PROT_READ);
        fault_->wake();
        thread_.join();
        return outcome_;
    }

private:
    Mapping memory_{1};
    std::optional<Userfault> fault_;
    Outcome outcome_ = succeeds();
    std::jthread thread_;
};

} // namespace

TEST_CASE("A user can have user_events_registrations_max_per_user registrations in all processes") {
    const Limit limit(registrations_per_user);
    CHECK(limit.before() == 524288);
    const std::string event = unique_name("registrations");
    REQUIRE(limit.set(5) == succeeds());
    Holder first(one_user, event);
    CHECK(first.count() == 5);
    CHECK(count_of_another(one_user, event) == 0);
    CHECK(count_of_another(other_user, event) == 5);
    for (unsigned capability : {CAP_PERFMON, CAP_SYS_ADMIN}) {
        CAPTURE(capability);
        CHECK(in_child([&] {
                  Word word{0};
                  DataFile file;
                  become_user(one_user, {capability});
                  return file.register_event(&word, 0, event).error();
              }) == 0);
    }
    CHECK(first.unregister_one() == 0);
    CHECK(count_of_another(one_user, event) == 1);
    REQUIRE(limit.set(7) == succeeds());
    CHECK(count_of_another(one_user, event) == 3);
    first.kill();
    CHECK(count_of_another(one_user, event) == 7);
}

TEST_CASE("A registration that fails does not count towards the limit of registrations") {
    const Limit limit(registrations_per_user);
    const std::string event = unique_name("uncounted");
    REQUIRE(limit.set(3) == succeeds());
    CHECK(in_child([&] {
              Word word{0};
              Mapping unwritable(1), structure(1);
              auto* const reg = structure.at<user_reg>();
              *reg = registration(&word, 31, event.c_str());
              structure.protect(PROT_READ);
              unwritable.protect(PROT_READ);
              DataFile file;
              become_user(one_user);
              // The last one fails when the bit is registered already: write_index is read-only.
              for (int round = 0; round < 10; round++)
                  if (file.register_event(unwritable.at<Word>(), 0, event) != fails(EFAULT) ||
                      file.register_event(&word, 0, event + " nonsense a") != fails(EINVAL) ||
                      file.register_event(*reg) != fails(EFAULT))
                      return 100;
              const int registered = register_until_limit(file, word, event);
              if (file.register_event(unwritable.at<Word>(), 0, event) != fails(EFAULT) ||
                  file.register_event(*reg) != fails(EMFILE))
                  return 101;
              return registered;
          }) == 3);
}

TEST_CASE("The limit of registrations counts what a child copies; UNREG may exceed it to twice") {
    const Limit limit(registrations_per_user);
    const std::string event = unique_name("copied");
    REQUIRE(limit.set(10) == succeeds());
    // Returns 0, or the number of the step that went wrong.
    CHECK(in_child([&] {
              static Word word;
              DataFile file;
              become_user(one_user);
              for (unsigned bit = 0; bit < 4; bit++)
                  file.must_register(&word, bit, event);
              {
                  // Its 4 copies and one more: 9 in all.
                  Child copying([&](Channel& channel) {
                      channel.send(file.register_event(&word, 4, event).error());
                      channel.receive<bool>();
                      return 0;
                  });
                  if (copying.channel().receive<int>() != 0)
                      return 1;
                  // 4 more copies are too many for REG, but not for UNREG.
                  const Child::Body body = [&](Channel& channel) {
                      while (channel.receive<bool>()) {
                          channel.send(file.register_event(&word, 4, event).error());
                          channel.send(file.unregister(&word, 0).error());
                          channel.send(file.register_event(&word, 0, event).error());
                      }
                      return 0;
                  };
                  const auto tries = [](Child& child, int reg, int unreg, int reg_again) {
                      Channel& channel = child.channel();
                      return channel.ask<int>(true) == reg && channel.receive<int>() == unreg &&
                             channel.receive<int>() == reg_again;
                  };
                  // 12, 15 and 18 in all. Another 4 copies would be more than 20.
                  Child first(body), second(body), third(body), beyond(body);
                  if (!tries(first, EMFILE, 0, EMFILE) || !tries(second, EMFILE, 0, EMFILE) ||
                      !tries(third, EMFILE, 0, EMFILE))
                      return 2;
                  if (!tries(beyond, EMFILE, EMFILE, EADDRINUSE))
                      return 3;
                  if (file.register_event(&word, 4, event) != fails(EMFILE))
                      return 4;
                  first.kill();
                  if (!tries(beyond, EMFILE, 0, EMFILE))
                      return 5;
                  second.kill();
                  third.kill();
                  beyond.kill();
                  if (file.register_event(&word, 4, event) != succeeds())
                      return 6;
                  // All 10 are in use. A child that changes nothing shares those of its parent.
                  Child sharing([](Channel&) { return 0; });
                  if (sharing.wait() != 0 || file.unregister(&word, 4) != succeeds())
                      return 7;
              }
              return register_until_limit(file, word, event, 4) == 6 ? 0 : 8;
          }) == 0);
    CHECK(count_of_another(one_user, event) == 10);
}

TEST_CASE("A registration that fails after a fork makes copies up to twice the limit") {
    Setting permitted("/proc/sys/vm/unprivileged_userfaultfd");
    permitted.set("1");
    const Limit limit(registrations_per_user);
    const std::string event = unique_name("undone");
    REQUIRE(limit.set(4) == succeeds());
    // Returns 0, or the number of the step that went wrong.
    CHECK(in_child([&] {
              static Word word;
              DataFile file;
              become_user(one_user);
              file.must_register(&word, 0, event);
              file.must_register(&word, 1, event);
              StoppedRegistration first(file, registration(&word, 2, event.c_str()));
              StoppedRegistration second(file, registration(&word, 3, event.c_str()));
              if (!eventually([&] { return first.is_stopped() && second.is_stopped(); }))
                  return 1;
              const Child::Body sleep = [](Channel& channel) { return channel.receive<int>(); };
              // 4 of this child's, and 3 of this process.
              Child sharing_four(sleep);
              if (first.fail() != fails(EFAULT) || file.unregister(&word, 2) != fails(ENOENT))
                  return 2;
              // 3 more would be too many.
              Child sharing_three(sleep);
              if (second.fail() != fails(EFAULT) || file.unregister(&word, 3) != fails(EMFILE))
                  return 3;
              sharing_four.kill();
              if (file.unregister(&word, 3) != succeeds())
                  return 4;
              return 0;
          }) == 0);
}

TEST_CASE("A process with CAP_PERFMON or CAP_SYS_ADMIN can always copy and unregister") {
    const unsigned capability = GENERATE(CAP_PERFMON, CAP_SYS_ADMIN);
    CAPTURE(capability);
    const Limit limit(registrations_per_user);
    const std::string event = unique_name("exempt");
    static Word word;
    DataFile file;
    for (unsigned bit = 0; bit < 4; bit++)
        file.must_register(&word, bit, event);
    REQUIRE(limit.set(1) == succeeds());
    {
        // Lowering the limit ends no registration.
        const Enabled enabled{Event(event)};
        CHECK(word == 0xf);
    }
    const auto in_user = [&](std::initializer_list<unsigned> capabilities) {
        return in_child([&] {
            become_user(one_user, capabilities);
            return file.unregister(&word, 0).error();
        });
    };
    CHECK(in_user({}) == EMFILE);
    CHECK(in_user({capability}) == 0);
}

TEST_CASE("exec gives a user's registrations back") {
    const Limit limit(registrations_per_user);
    const std::string event = unique_name("exec");
    // The module frees the count when the user has no registration left, so this one stays.
    REQUIRE(limit.set(1) == succeeds());
    Holder kept(one_user, event);
    REQUIRE(kept.count() == 1);
    REQUIRE(limit.set(4) == succeeds());
    Child child([&](Channel& channel) {
        Word word{0};
        DataFile file;
        become_user(one_user);
        channel.send(register_until_limit(file, word, event));
        channel.receive<bool>();
        execl("/bin/sleep", "sleep", "1000", nullptr);
        return 1;
    });
    CHECK(child.channel().receive<int>() == 3);
    CHECK(count_of_another(one_user, event) == 0);
    child.channel().send(true);
    CHECK(eventually([&] { return count_of_another(one_user, event) == 3; }));
    CHECK(read_text("/proc/" + std::to_string(child.pid()) + "/comm") == "sleep\n");
}

TEST_CASE("Registrations count for the user of a program's first one, whatever setuid does later") {
    const Limit limit(registrations_per_user);
    const std::string event = unique_name("setuid");
    REQUIRE(limit.set(3) == succeeds());
    Child child([&](Channel& channel) {
        Word word{0};
        DataFile file;
        channel.send(register_as(one_user, file, word, 0, event).error());
        channel.send(register_as(other_user, file, word, 1, event).error());
        channel.send(register_as(other_user, file, word, 2, event).error());
        channel.send(register_as(other_user, file, word, 3, event).error());
        channel.receive<bool>();
        {
            const AsUser as(other_user);
            channel.send(file.unregister(&word, 0).error());
        }
        return channel.receive<bool>() ? 0 : 1;
    });
    for (int expected : {0, 0, 0, EMFILE})
        CHECK(child.channel().receive<int>() == expected);
    CHECK(count_of_another(other_user, event) == 3);
    CHECK(count_of_another(one_user, event) == 0);
    CHECK(child.channel().ask<int>(true) == 0);
    CHECK(count_of_another(one_user, event) == 1);
    child.kill();
    CHECK(count_of_another(one_user, event) == 3);
}

TEST_CASE("A program that registers as root and becomes another user counts for root, and is not "
          "exempt") {
    const Limit limit(registrations_per_user);
    const std::string event = unique_name("dropped");
    REQUIRE(limit.set(2) == succeeds());
    Child child([&](Channel& channel) {
        Word word{0};
        DataFile file;
        for (unsigned bit = 0; bit < 4; bit++)
            file.must_register(&word, bit, event);
        become_user(one_user);
        channel.send(file.register_event(&word, 4, event).error());
        return channel.receive<int>();
    });
    CHECK(child.channel().receive<int>() == EMFILE);
    // None of the four counts for the user.
    CHECK(count_of_another(one_user, event) == 2);
    child.channel().send(0);
    CHECK(child.wait() == 0);
}

TEST_CASE("The limit of registrations can be any number of 32 bits") {
    const Limit limit(registrations_per_user);
    const std::string path = std::string("/proc/sys/kernel/") + registrations_per_user;
    const std::string event = unique_name("bounds");
    for (const char* const text : {"-1", "4294967296", "many"})
        CHECK(write_text(path, text) == fails(EINVAL));
    CHECK(limit.read() == 524288);
    CHECK(limit.set(4294967295) == succeeds());
    CHECK(limit.read() == 4294967295);
    REQUIRE(limit.set(0) == succeeds());
    CHECK(count_of_another(one_user, event) == 0);
    Word word{0};
    CHECK(DataFile().register_event(&word, 0, event) == succeeds());
}
