// SPDX-License-Identifier: GPL-2.0-only
// Rules for some programs: only these have their enable bits set, and only they are recorded.
#include "catch.hpp"
#include "child.hpp"
#include "control_group.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "kernel_log.hpp"
#include "mapping.hpp"
#include "perf.hpp"
#include "program.hpp"
#include "rule.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <linux/sched.h>
#include <list>
#include <map>
#include <optional>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>

using namespace selftest;

namespace {

std::string rule_text(const Event& event, const Instance& instance, const std::string& options,
                      const std::string& rest = "") {
    return event.name() + " instance=" + instance.name() + (options.empty() ? "" : " ") + options +
           rest;
}

std::string pid_option(const Program& program) {
    return "pid=" + std::to_string(program.pid());
}

std::string own_path() {
    return std::filesystem::read_symlink("/proc/self/exe");
}

/// Bits are updated later if a program has changed, and not when a rule is added.
bool has_bit(Program& program, int bit) {
    return eventually([&] { return program.bit() == bit; });
}

/// A copy of the test's program with another name.
class Copy {
public:
    Copy() : path("/tmp/" + unique_name("copy")) { std::filesystem::copy_file(own_path(), path); }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    ~Copy() { unlink(path.c_str()); }

    const std::string path;
};

/// Forks a process with this number.
pid_t fork_as(pid_t number) {
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uintptr_t>(&number);
    arguments.set_tid_size = 1;
    return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

/// Registers, tells so, and registers again when told to. Returns the bits that it has found.
int register_twice(Channel& channel, const Event& event) {
    DataFile file;
    Word words[2] = {};
    expect(file.register_event(&words[0], 0, event.name()), "register");
    const std::uint32_t before = words[0].load();
    channel.send('r');
    channel.receive<char>();
    expect(file.register_event(&words[1], 1, event.name()), "register again");
    return static_cast<int>(before | words[1].load());
}

/// Forks a process whose first thread ends. Another thread then does what `body` says, and exits
/// with its result.
class WithoutMain {
public:
    explicit WithoutMain(const std::function<int()>& body)
        : child_([&](Channel& channel) {
              std::thread([&] {
                  channel.receive<char>();
                  _exit(body());
              }).detach();
              syscall(SYS_exit, 0);
              return 1;
          }) {
        CHECK(eventually([&] { return state_of(child_.pid(), child_.pid()) == 'Z'; }));
    }
    pid_t pid() const { return child_.pid(); }
    int go() {
        child_.channel().send('g');
        return child_.wait();
    }

private:
    Child child_;
};

/// The path of a group, as the kernel has it.
std::string group_path(const ControlGroup& group) {
    return "/" + std::filesystem::path(group.path()).filename().string();
}

std::string with_words(std::string text, const std::map<std::string, std::string>& words) {
    for (const auto& [word, meaning] : words) {
        const auto at = text.find(word);
        if (at != std::string::npos)
            text.replace(at, word.size(), meaning);
    }
    return text;
}

void move(const Program& program, const std::string& directory) {
    expect(write_text(directory + "/cgroup.procs", std::to_string(program.pid())), directory);
}

/// A path's directory, which for a group is the hierarchy's root.
std::string root_of(const ControlGroup& group) {
    return std::filesystem::path(group.path()).parent_path();
}

/// Checks that of two programs, a trigger counts the first one's records alone.
void check_counts_only(Program& counted, Program& other, const std::string& histogram) {
    CHECK(counted.bit() == 1);
    CHECK(other.bit() == 0);
    CHECK(counted.ask(Request::record) == 0);
    CHECK(other.ask(Request::record) == 0);
    CHECK(read_text(histogram).find("Hits: 1\n") != std::string::npos);
}

} // namespace

TEST_CASE("A rule for a process sets its bit, and writes to no other's memory", "[long]") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    REQUIRE(other.ask(Request::drop) == 0);
    {
        const Rule rule(rule_text(kept.event, instance, pid_option(target)));
        CHECK(rule.comment() == "applied to 1, matches 1");
        CHECK(target.bit() == 1);
        CHECK(kept.bit() == 0);
        CHECK(other.ask(Request::is_dropped) == 1);
        CHECK(kept.status() == " # Used by ftrace");
        CHECK(target.ask(Request::record) == 0);
        // A program that does not look at its bit is not recorded, and gets no error.
        CHECK(other.ask(Request::record) == 0);
        CHECK(other.ask(Request::record_large) == 0);
        CHECK(target.ask(Request::record_large) == E2BIG);
        CHECK(instance.records().size() == 1);
        CHECK(kept.status() == " # Used by ftrace");
    }
    CHECK(target.bit() == 0);
    CHECK(target.ask(Request::record) == EBADF);
    CHECK(other.ask(Request::is_dropped) == 1);
    CHECK(other.bit() == 0);
}

TEST_CASE("A program that registers when the rule exists gets the bit 1 if it matches") {
    Kept kept;
    Instance instance;
    Program target(kept.event, false), second(kept.event, false), other(kept.event, false);
    const Rule rule(
        rule_text(kept.event, instance, pid_option(target) + "," + std::to_string(second.pid())));
    CHECK(rule.comment() == "applied to 1, matches 0");
    for (Program* program : {&target, &second, &other})
        REQUIRE(program->ask(Request::add) == 0);
    CHECK(target.bit() == 1);
    CHECK(second.bit() == 1);
    CHECK(other.bit() == 0);
    CHECK(rule.comment() == "applied to 1, matches 2");
    CHECK(target.ask(Request::remove) == 0);
    CHECK(target.bit() == 0);
    CHECK(target.ask(Request::add) == 0);
    CHECK(target.bit() == 1);
}

TEST_CASE("A rule for programs creates no event, and is for events that come later") {
    Instance instance;
    const std::string name = unique_name("scope_later");
    const Rule rule(name + "_* instance=" + instance.name() + " comm=scope_test");
    const Event event(name + "_x");
    Program target(event);
    CHECK(target.bit() == 1);
    CHECK(target.ask(Request::record) == 0);
    CHECK(instance.records().size() == 1);
    CHECK(rule.comment() == "applied to 1, matches 1");
}

TEST_CASE("Each option is found at REG, and again after exec") {
    Kept kept;
    Instance instance;
    Program target(kept.event, false);
    Copy copy;
    const std::map<std::string, std::string> words{
        {"TARGET", std::to_string(target.pid())}, {"COPY", copy.path}, {"OWN", own_path()}};
    const auto [text, matches, after_exec] = GENERATE(table<std::string, int, int>({
        {"pid=TARGET", 1, 1},
        {"pid=1,TARGET", 1, 1},
        {"pid=1", 0, 0},
        {"uid=0", 1, 1},
        {"uid=65533,0", 1, 1},
        {"uid=65534", 0, 0},
        {"comm=scope_*", 1, 0},
        {"comm=copy*", 0, 1},
        {"exe=OWN", 1, 0},
        {"exe=*/scope_test", 1, 0},
        {"exe=COPY", 0, 1},
        {"cgroup=/", 1, 1},
        {"cgroup=/nowhere", 0, 0},
        {"uid=0 comm=scope_*", 1, 0},
        {"uid=1 comm=scope_*", 0, 0},
        {"pid=TARGET uid=0 comm=* exe=/* cgroup=/", 1, 1},
    }));
    const std::string options = with_words(text, words);
    CAPTURE(options);
    const Rule rule(rule_text(kept.event, instance, options));
    REQUIRE(target.ask(Request::add) == 0);
    CHECK(target.bit() == matches);
    CHECK(target.ask(Request::record) == 0);
    CHECK(instance.records().size() == static_cast<std::size_t>(matches));
    target.execute(copy.path);
    REQUIRE(target.ask(Request::add) == 0);
    CHECK(target.bit() == after_exec);
}

TEST_CASE("exe= matches a program after its file was replaced") {
    Kept kept;
    Instance instance;
    Program target(kept.event, false);
    const Copy old, replacement;
    target.execute(old.path);
    REQUIRE(rename(replacement.path.c_str(), old.path.c_str()) == 0);
    const Rule rule(rule_text(kept.event, instance, "exe=" + old.path));
    REQUIRE(target.ask(Request::add) == 0);
    CHECK(target.bit() == 1);
}

TEST_CASE("exe= is the path from the first root, also for a program in a chroot") {
    Kept kept;
    Instance instance;
    const std::string root = std::filesystem::path(own_path()).parent_path();
    REQUIRE(root != "/");
    const auto [path, matches] = GENERATE_COPY(
        table<std::string, int>({{own_path(), 1}, {own_path().substr(root.size()), 0}}));
    const Rule rule(rule_text(kept.event, instance, "exe=" + path));
    CHECK(in_child([&, matches = matches] {
              DataFile file;
              Word word{0};
              expect(Outcome::of(chroot(root.c_str())), "chroot");
              file.must_register(&word, 0, kept.event.name());
              return word == static_cast<std::uint32_t>(matches) ? 0 : 1;
          }) == 0);
}

TEST_CASE("A new name or user counts from the next registration of a process on, not before") {
    Kept kept;
    Instance instance;
    Program target(kept.event);
    const auto [options, change] = GENERATE(table<std::string, Request>({
        {"comm=renamed", Request::rename},
        {"uid=65534", Request::become_nobody},
    }));
    const Rule rule(rule_text(kept.event, instance, options));
    REQUIRE(target.ask(change) == 0);
    CHECK(target.bit() == 0);
    // A forked child is a process of its own.
    CHECK(target.ask(Request::fork) == 1);
    CHECK(target.bit() == 0);
}

TEST_CASE("For rules with cgroup=, a new name or user also counts after a process was moved") {
    Kept kept;
    Instance instance, without;
    const ControlGroup group("pids");
    Program target(kept.event), moved(kept.event);
    const auto [options, change] = GENERATE(table<std::string, Request>({
        {"comm=renamed", Request::rename},
        {"uid=65534", Request::become_nobody},
    }));
    const Rule rule(rule_text(kept.event, instance, options + " cgroup=/"));
    const Rule rule_without(rule_text(kept.event, without, options));
    REQUIRE(target.ask(change) == 0);
    CHECK(target.bit() == 0);
    move(moved, group.path());
    CHECK(has_bit(target, 1));
    CHECK(moved.bit() == 0);
    CHECK(target.ask(Request::record) == 0);
    CHECK(instance.records().size() == 1);
    CHECK(without.records().empty());
}

TEST_CASE("A child is recorded if it matches, whatever its parent does") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    {
        const Rule rule(rule_text(kept.event, instance, pid_option(target)));
        CHECK(target.ask(Request::fork) == 0);
        CHECK(target.bit() == 1);
        CHECK(other.ask(Request::fork) == 0);
    }
    const Rule rule(rule_text(kept.event, instance, "comm=scope_test"));
    CHECK(target.ask(Request::fork) == 1);
    REQUIRE(target.ask(Request::pass_on) == 0);
    CHECK(target.bit() == 1);
    CHECK(target.ask(Request::record) == 0);
    CHECK(instance.records().size() == 1);
}

TEST_CASE("Of a program that forks very many children, those that match have the bit 1") {
    Kept kept;
    Instance instance;
    const bool by_name = GENERATE(false, true);
    // The target tells when it has forked a hundred, so that a slow machine is no failure.
    constexpr unsigned part = 100;
    const unsigned parts = fewer_if_not_6_12(by_name ? 20 : 100, 10);
    Child target([&](Channel& channel) {
        DataFile file;
        Word word{0};
        expect(file.register_event(&word, 0, kept.event.name()), "register");
        channel.send('r');
        channel.receive<char>();
        for (unsigned i = 0; i < parts * part; i++) {
            const pid_t pid = fork();
            if (pid == 0)
                _exit(static_cast<int>(word.load()));
            int status = -1;
            if (waitpid(pid, &status, 0) != pid || status != W_EXITCODE(by_name, 0))
                return 2;
            if (i % part == part - 1)
                channel.send('p');
        }
        return static_cast<int>(word.load());
    });
    REQUIRE(target.channel().receive<char>() == 'r');
    const Rule rule(kept.event.name() + " instance=" + instance.name() +
                    (by_name ? " comm=scope_te*" : " pid=" + std::to_string(target.pid())));
    target.channel().send('g');
    for (unsigned i = 0; i < parts; i++)
        target.channel().receive<char>();
    CHECK(target.wait() == 1);
}

TEST_CASE("A number that is given to another process matches only rules that come later") {
    Kept kept;
    Instance instance;
    Program target(kept.event);
    const Rule rule(rule_text(kept.event, instance, pid_option(target)));
    const std::string later =
        rule_text(Event(kept.event.name() + "*"), instance, pid_option(target));
    target.end();
    CHECK(change_rule(later) == fails(ENOENT));
    int sockets[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    Channel ours{Descriptor(sockets[0])}, its{Descriptor(sockets[1])};
    const pid_t again = fork_as(target.pid());
    if (again == 0)
        _exit(register_twice(its, kept.event));
    REQUIRE(again == target.pid());
    REQUIRE(ours.receive<char>() == 'r');
    CHECK(rule.comment() == "applied to 1, matches 0");
    const Rule second(later);
    CHECK(second.comment() == "applied to 1, matches 1");
    ours.send('g');
    int status = -1;
    REQUIRE(waitpid(again, &status, 0) == again);
    // The bits before and after the second rule.
    CHECK(WEXITSTATUS(status) == 0b10);
}

TEST_CASE("A move to another control group counts soon, for groups below as well") {
    Kept kept;
    Instance instance;
    const ControlGroup group("pids");
    Program target(kept.event), other(kept.event);
    const Rule rule(rule_text(kept.event, instance, "cgroup=" + group_path(group)));
    CHECK(target.bit() == 0);
    for (const std::string& directory : {group.path(), group.path() + "/below"}) {
        std::filesystem::create_directory(directory);
        move(target, directory);
        CHECK(has_bit(target, 1));
        CHECK(other.bit() == 0);
        CHECK(target.ask(Request::fork) == 1);
        move(target, root_of(group));
        CHECK(has_bit(target, 0));
    }
    rmdir((group.path() + "/below").c_str());
}

TEST_CASE("A process whose first thread has ended has its program and its control group") {
    Kept kept;
    Instance instance;
    const ControlGroup group("pids");
    WithoutMain target([&] {
        DataFile file;
        Word word{0};
        expect(file.register_event(&word, 0, kept.event.name()), "register");
        return static_cast<int>(word.load());
    });
    const bool by_group = GENERATE(false, true);
    CAPTURE(by_group);
    const Rule rule(rule_text(kept.event, instance,
                              by_group ? "cgroup=" + group_path(group) : "exe=" + own_path()));
    expect(write_text(group.path() + "/cgroup.procs", std::to_string(target.pid())), "move");
    CHECK(target.go() == 1);
}

TEST_CASE("A process that is moved to and fro while it registers has the bit of its last group") {
    Kept kept;
    Instance instance;
    const ControlGroup group("pids");
    Program target(kept.event, false), other(kept.event);
    const Rule rule(rule_text(kept.event, instance, "cgroup=" + group_path(group)));
    const unsigned count = fewer_if_debug(400);
    for (unsigned i = 0; i < count; i++) {
        std::thread registering([&] { target.ask(i % 4 < 2 ? Request::add : Request::remove); });
        move(target, i % 2 ? root_of(group) : group.path());
        registering.join();
    }
    // The last request was to remove the bit, and the last move out of the group.
    REQUIRE(target.ask(Request::add) == 0);
    CHECK(has_bit(target, 0));
    // Another process has not had to wait for that.
    move(other, group.path());
    CHECK(has_bit(other, 1));
    for (Program* program : {&target, &other})
        move(*program, root_of(group));
}

TEST_CASE("A control group whose name only begins like the rule's does not match") {
    Kept kept;
    Instance instance;
    const ControlGroup group("pids");
    Program target(kept.event, false);
    move(target, group.path());
    const std::string path = group_path(group);
    const Rule rule(rule_text(kept.event, instance, "cgroup=" + path.substr(0, path.size() - 1)));
    REQUIRE(target.ask(Request::add) == 0);
    CHECK(target.bit() == 0);
    move(target, root_of(group));
}

TEST_CASE("A control group that comes later under the rule's path matches") {
    Kept kept;
    Instance instance;
    const ControlGroup group("pids");
    Program target(kept.event);
    const Rule rule(rule_text(kept.event, instance, "cgroup=" + group_path(group) + "/new"));
    for (int round = 0; round < 2; round++) {
        const std::string directory = group.path() + "/new";
        std::filesystem::create_directory(directory);
        move(target, directory);
        CHECK(has_bit(target, 1));
        move(target, root_of(group));
        CHECK(has_bit(target, 0));
        REQUIRE(eventually([&] { return rmdir(directory.c_str()) == 0; }));
    }
}

TEST_CASE("Rules with the same filter add up, in any order of adding and removing") {
    Kept kept;
    Instance instance;
    Program first(kept.event), second(kept.event);
    const std::string filter = GENERATE("", " if common_pid > 0");
    const bool first_one = GENERATE(false, true);
    const bool with_all = GENERATE(false, true);
    CAPTURE(filter, first_one, with_all);
    const auto bits = [&] { return first.bit() + 2 * second.bit(); };
    std::optional<Rule> one, two;
    one.emplace(rule_text(kept.event, instance, pid_option(first), filter));
    CHECK(bits() == 1);
    two.emplace(with_all ? rule_text(kept.event, instance, "", filter)
                         : rule_text(kept.event, instance, pid_option(second), filter));
    CHECK(bits() == 3);
    CHECK(kept.bit() == with_all);
    CHECK(two->comment().find("failed") == std::string::npos);
    CHECK(first.ask(Request::record) == 0);
    CHECK(second.ask(Request::record) == 0);
    CHECK(instance.records().size() == 2);
    (first_one ? one : two).reset();
    CHECK(bits() == (first_one ? (with_all ? 3 : 2) : 1));
    std::optional<Rule>& left = first_one ? two : one;
    // It has not been applied once more.
    CHECK_THAT(left->comment(), Catch::StartsWith("applied to 1"));
    left.reset();
    CHECK(bits() == 0);
    CHECK(kept.bit() == 0);
    CHECK(read_text(instance.path(kept.event, "enable")).substr(0, 1) == "0");
}

TEST_CASE("A change of a rule writes to no memory of programs that are recorded before and after") {
    Kept kept;
    Instance instance, another;
    Program first(kept.event), second(kept.event), third(kept.event);
    const Rule of_third(rule_text(kept.event, another, pid_option(third)));
    const Rule of_first(rule_text(kept.event, instance, pid_option(first)));
    REQUIRE(third.ask(Request::drop) == 0);
    {
        const Rule of_second(rule_text(kept.event, instance, pid_option(second)));
        CHECK(second.bit() == 1);
    }
    CHECK(second.bit() == 0);
    CHECK(third.ask(Request::is_dropped) == 1);
}

TEST_CASE("A rule with another filter for other programs fails with EBUSY, and changes nothing") {
    const Kept before;
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    // Either rule, or both, may be for some programs only, and have a filter.
    const std::string of_target = pid_option(target), of_other = pid_option(other);
    const std::pair<std::string, std::string> options[] = {
        {of_target, of_other}, {"", of_other}, {of_target, ""}, {of_target, of_target + " uid=0"}};
    const auto& [first, second] = options[GENERATE(0, 1, 2, 3)];
    const auto [filter, another] = GENERATE(
        as<std::pair<std::string, std::string>>(), std::pair{"", " if common_pid > 0"},
        std::pair{" if common_pid > 0", ""}, std::pair{" if common_pid > 0", " if common_pid > 1"});
    CAPTURE(first, second, filter, another);
    const Rule rule(rule_text(kept.event, instance, first, filter));
    const std::string rules = read_text(rules_file());
    const auto bits = [&] { return 100 * target.bit() + 10 * other.bit() + kept.bit(); };
    const int bits_before = bits();
    // The pattern also matches an event that could be recorded.
    const std::string conflicting =
        "kept_* instance=" + instance.name() + (second.empty() ? "" : " ") + second + another;
    KernelLog log;
    CHECK(change_rule(conflicting) == fails(EBUSY));
    CHECK_THAT(log.read(), Catch::Contains("the rule is not added, " + kept.event.name() +
                                           " is recorded there for other programs, with another "
                                           "filter or limit, by the rule " +
                                           rule.text().substr(0, 128) + ": " +
                                           conflicting.substr(0, 128) + "\n"));
    CHECK(read_text(rules_file()) == rules);
    CHECK(rule.comment().find("failed") == std::string::npos);
    CHECK(bits() == bits_before);
    CHECK(read_text(instance.path(before.event, "enable")).substr(0, 1) == "0");
    CHECK(read_text(instance.path(kept.event, "filter")) ==
          (filter.empty() ? "none" : filter.substr(4)) + "\n");
    // With the same filter they add up.
    const Rule fitting(rule_text(kept.event, instance, second, filter));
    CHECK_THAT(fitting.comment(), Catch::StartsWith("applied to 1"));
}

TEST_CASE("A rule with another filter that conflicts with none fails for the event alone") {
    Kept kept;
    Instance instance, another;
    Program target(kept.event), other(kept.event);
    const Rule rule(rule_text(kept.event, instance, pid_option(target)));
    const std::string filter = " if common_pid > 0";
    const std::string reason = "failed for 1: " + kept.event.name() + ": ";
    SECTION("for the same programs, as the first rule records them") {
        const Rule same(rule_text(kept.event, instance, pid_option(target), filter));
        CHECK(same.comment() ==
              "applied to 0, matches 1, " + reason + "already enabled or filtered");
    }
    SECTION("if the filter was changed by hand") {
        REQUIRE(instance.set_filter(kept.event, "common_pid > 2") == succeeds());
        const Rule late(rule_text(kept.event, instance, pid_option(other), filter));
        CHECK_THAT(late.comment(), Catch::Contains(reason));
        REQUIRE(instance.set_filter(kept.event, "0") == succeeds());
    }
    SECTION("if the event was enabled by hand") {
        REQUIRE(another.enable(kept.event) == succeeds());
        const Rule late(rule_text(kept.event, another, pid_option(other), filter));
        CHECK_THAT(late.comment(), Catch::Contains(reason));
        REQUIRE(another.disable(kept.event) == succeeds());
    }
    SECTION("and for none if the rule is for other events") {
        const Rule others("kept_no_such instance=" + instance.name() + " " + pid_option(other) +
                          filter);
        CHECK(others.comment() == "applied to 0, matches 1");
    }
    SECTION("and for none in another instance") {
        const Rule elsewhere(rule_text(kept.event, another, pid_option(other), filter));
        CHECK(elsewhere.comment() == "applied to 1, matches 1");
    }
    CHECK(target.bit() == 1);
}

TEST_CASE(
    "An event that is registered later is recorded by the first of rules with other filters") {
    const Event event(unique_name("later"));
    Instance instance;
    Program target(event, false), other(event, false);
    const Rule rule(rule_text(event, instance, pid_option(target)));
    const Rule filtered(rule_text(event, instance, pid_option(other), " if common_pid > 0"));
    CHECK(target.ask(Request::add) == 0);
    CHECK(other.ask(Request::add) == 0);
    CHECK(target.bit() == 1);
    CHECK(other.bit() == 0);
    CHECK(filtered.comment() ==
          "applied to 0, matches 1, failed for 1: " + event.name() +
              ": recorded there for other programs, or with another filter or limit");
}

TEST_CASE("A trigger for other programs than those that are recorded fails with a reason") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    const Rule rule(rule_text(kept.event, instance, pid_option(target)));
    const Rule trigger(rule_text(kept.event, instance, pid_option(other), " trigger traceoff"));
    CHECK(trigger.comment() ==
          "applied to 0, matches 1, failed for 1: " + kept.event.name() +
              ": recorded there for other programs, or with another filter or limit");
    CHECK(other.bit() == 0);
    CHECK(target.bit() == 1);
}

TEST_CASE(
    "All rules that can add up take an event over when the rule is removed that prevented it") {
    const Event event(unique_name("taken"));
    Instance instance;
    Program target(event, false), other(event, false), third(event, false);
    // The first and the last one are for all programs, or for one each.
    const bool for_all = GENERATE(false, true);
    CAPTURE(for_all);
    const auto option = [&](Program& program) { return for_all ? "" : pid_option(program); };
    const std::string first =
        rule_text(event, instance, option(third), for_all ? " if common_pid > 1" : "");
    REQUIRE(change_rule(first).ok());
    const Rule second(rule_text(event, instance, pid_option(target), " if common_pid > 0"));
    const Rule last(rule_text(event, instance, option(other), " if common_pid > 0"));
    for (Program* const program : {&target, &other, &third})
        REQUIRE(program->ask(Request::add) == 0);
    CHECK(target.bit() == for_all);
    CHECK(other.bit() == for_all);
    CHECK(change_rule("!" + first).ok());
    CHECK(target.bit() == 1);
    CHECK(other.bit() == 1);
    CHECK(third.bit() == for_all);
}

TEST_CASE("Of two rules for all programs, the second has the event after the first, although a "
          "rule for a program adds up with both") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    const std::string of_target = rule_text(kept.event, instance, pid_option(target)),
                      first = rule_text(kept.event, instance, ""),
                      second = kept.event.name() + "* instance=" + instance.name();
    const unsigned place = GENERATE(0, 1, 2);
    CAPTURE(place);
    std::vector in_order{first, second};
    in_order.insert(in_order.begin() + place, of_target);
    std::list<Rule> rules;
    for (const std::string& text : in_order)
        rules.emplace_back(text);
    CHECK(other.bit() == 1);
    rules.remove_if([&](const Rule& rule) { return rule.text() == first; });
    CHECK(other.bit() == 1);
    CHECK_THAT(rule_comment(second), Catch::StartsWith("applied to 1"));
    rules.remove_if([&](const Rule& rule) { return rule.text() == second; });
    CHECK(other.bit() == 0);
    CHECK(target.bit() == 1);
}

TEST_CASE("A trigger of a rule for a program counts that program's records alone") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    const Rule rule(
        rule_text(kept.event, instance, pid_option(target), " trigger hist:keys=common_pid"));
    check_counts_only(target, other, instance.path(kept.event, "hist"));
}

TEST_CASE("A rule for other programs does not change which programs the trigger of a rule counts") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    const std::string plain = rule_text(kept.event, instance, pid_option(target));
    const std::string others =
        rule_text(kept.event, instance, GENERATE(0, 1) ? pid_option(other) : "");
    CAPTURE(others);
    const Rule trigger(
        rule_text(kept.event, instance, pid_option(target), " trigger hist:keys=common_pid"));
    REQUIRE(change_rule(plain).ok());
    // It may not add up with the rule that records, nor take the event over from it.
    const Rule rule(others);
    CHECK_THAT(rule.comment(),
               Catch::StartsWith("applied to 0") && Catch::Contains("failed for 1"));
    CHECK(other.bit() == 0);
    REQUIRE(change_rule("!" + plain).ok());
    check_counts_only(target, other, instance.path(kept.event, "hist"));
    CHECK(instance.records().empty());
}

TEST_CASE("A rule with a trigger fails for an event that is recorded by rules for all programs and "
          "for some") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    const std::string all = rule_text(kept.event, instance, "");
    REQUIRE(change_rule(all).ok());
    const Rule some(rule_text(kept.event, instance, pid_option(target)));
    const Rule trigger(rule_text(kept.event, instance, "", " trigger hist:keys=common_pid"));
    CHECK_THAT(trigger.comment(),
               Catch::StartsWith("applied to 0") && Catch::Contains("failed for 1"));
    REQUIRE(change_rule("!" + all).ok());
    CHECK(target.bit() == 1);
    CHECK(other.bit() == 0);
}

TEST_CASE("Two rules for a program that are removed together never record another program") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    REQUIRE(other.ask(Request::drop) == 0);
    const bool trigger_first = GENERATE(false, true);
    CAPTURE(trigger_first);
    const std::string trigger =
        rule_text(kept.event, instance, pid_option(target), " trigger hist:keys=common_pid");
    const std::string plain = rule_text(kept.event, instance, pid_option(target));
    const Rule first(trigger_first ? trigger : plain), second(trigger_first ? plain : trigger);
    CHECK(target.bit() == 1);
    expect(write_text(rules_file(), "", O_TRUNC), rules_file());
    CHECK(target.bit() == 0);
    CHECK(other.ask(Request::is_dropped) == 1);
}

TEST_CASE("A bit of shared memory is 0 after perf ends, while a rule is for another program") {
    // While there is a target of any event, which programs share memory cannot be told.
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event, false), third(kept.event);
    const Rule rule(rule_text(kept.event, instance, pid_option(target)));
    std::optional<PerfEvent> perf;
    perf.emplace(perf_attributes(kept.event), third.pid());
    REQUIRE(other.ask(Request::lend) > 0);
    REQUIRE(other.ask(Request::add) == 0);
    perf.reset();
    CHECK(other.bit() == 0);
    CHECK(target.bit() == 1);
    other.end();
}

TEST_CASE("Rules for programs, perf of one process, and recorders of all add up in any order") {
    Kept kept;
    Instance instance, for_all;
    Program target(kept.event), other(kept.event), third(kept.event);
    const auto bits = [&] { return target.bit() + 2 * other.bit() + 4 * third.bit(); };
    const bool rule_first = GENERATE(false, true);
    CAPTURE(rule_first);
    std::optional<Rule> rule;
    std::optional<PerfEvent> perf;
    if (rule_first)
        rule.emplace(rule_text(kept.event, instance, pid_option(target)));
    perf.emplace(perf_attributes(kept.event), other.pid());
    if (!rule_first)
        rule.emplace(rule_text(kept.event, instance, pid_option(target)));
    CHECK(bits() == 3);
    REQUIRE(for_all.enable(kept.event) == succeeds());
    CHECK(bits() == 7);
    CHECK(third.ask(Request::record) == 0);
    REQUIRE(for_all.disable(kept.event) == succeeds());
    CHECK(bits() == 3);
    CHECK(instance.records().empty());
    CHECK(for_all.records().size() == 1);
    if (rule_first)
        rule.reset();
    else
        perf.reset();
    CHECK(bits() == (rule_first ? 2 : 1));
}

TEST_CASE("Memory that programs share has the bit 1 while anybody records the event") {
    Kept kept;
    Instance instance;
    const Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const bool late = GENERATE(false, true);
    CAPTURE(late);
    Program target(kept.event, !late, memory.at()), other(kept.event, !late, memory.at());
    // No program that the rule matches has this memory.
    const Mapping elsewhere(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    Program alone(kept.event, false, elsewhere.at());
    {
        const Rule rule(rule_text(kept.event, instance, pid_option(target)));
        if (late) {
            // The one that does not match registers first.
            REQUIRE(other.ask(Request::add) == 0);
            CHECK(other.bit() == 1);
            REQUIRE(target.ask(Request::add) == 0);
        }
        REQUIRE(alone.ask(Request::add) == 0);
        CHECK(alone.bit() == 1);
        CHECK(target.bit() == 1);
        CHECK(other.ask(Request::record) == 0);
        CHECK(instance.records().empty());
    }
    CHECK(target.bit() == 0);
    CHECK(other.bit() == 0);
    CHECK(alone.bit() == 0);
}

TEST_CASE("Of processes that share their memory, the one that has created it counts") {
    Kept kept;
    Instance instance;
    Program program(kept.event);
    const int borrower = program.ask(Request::lend);
    REQUIRE(borrower > 0);
    {
        const Rule rule(rule_text(kept.event, instance, "pid=" + std::to_string(borrower)));
        CHECK(rule.comment() == "applied to 1, matches 0");
        CHECK(program.bit() == 0);
        CHECK(program.ask(Request::record) == 0);
        CHECK(instance.records().empty());
    }
    {
        const Rule rule(rule_text(kept.event, instance, pid_option(program)));
        CHECK(rule.comment() == "applied to 1, matches 1");
        CHECK(program.bit() == 1);
        CHECK(program.ask(Request::record) == 0);
        CHECK(instance.records().size() == 1);
    }
    program.end();
}

TEST_CASE("An event that others change is left enabled for all programs when its rule is removed") {
    Kept kept;
    Instance instance;
    Program target(kept.event), other(kept.event);
    {
        const Rule rule(rule_text(kept.event, instance, pid_option(target)));
        expect(write_text(instance.path(kept.event, "filter"), "common_pid > 0"), "filter");
        CHECK(other.bit() == 0);
    }
    CHECK(target.bit() == 1);
    CHECK(other.bit() == 1);
    CHECK(other.ask(Request::record) == 0);
    CHECK(instance.records().size() == 1);
}

TEST_CASE("A rule with a bad option is refused, with the reason in the log") {
    Instance instance;
    const auto [options, error, reason] = GENERATE(table<std::string, int, std::string>({
        {"pid=0", ENOENT, "no such process"},
        {"pid=4294967295", ENOENT, "no such process"},
        {"pid=1,", EINVAL, "not numbers"},
        {"pid=1 pid=1", EINVAL, "twice"},
        {"uid=-1", EINVAL, "not numbers"},
        {"uid=4294967296", EINVAL, "not numbers"},
        {"comm=", EINVAL, "nothing after"},
        {"exe=", EINVAL, "nothing after"},
        {"exe=a uid=1 exe=b", EINVAL, "twice"},
        {"cgroup=x", EINVAL, "not the path"},
        {"color=red", EINVAL, "expected"},
    }));
    KernelLog log;
    const std::string rules = read_text(rules_file());
    CHECK(change_rule("scope_bad_* instance=" + instance.name() + " " + options) == fails(error));
    CHECK(log.read().find(reason) != std::string::npos);
    CHECK(read_text(rules_file()) == rules);
    CHECK(change_rule("scope_bad_* uid=0") == fails(EINVAL));
}

TEST_CASE("The number of a process that has ended is refused") {
    const Event event(unique_name("gone"));
    Instance instance;
    Program gone(event, false);
    const std::string rule = rule_text(event, instance, pid_option(gone));
    gone.end();
    KernelLog log;
    CHECK(change_rule(rule) == fails(ENOENT));
    CHECK(log.read().find("no such process") != std::string::npos);
    CHECK(rule_line(rule).empty());
}

TEST_CASE("Rules for programs can be written back as they are read, while the processes exist") {
    Kept kept;
    Instance instance;
    Program target(kept.event);
    const std::string text = kept.event.name() + " instance=" + instance.name();
    const std::string pid = text + " " + pid_option(target);
    const std::string all = text + " pid=1 uid=0,65534 comm=[!x]*?\"#' exe=/*\\x cgroup=/a/b";
    const std::string root = text + " uid=0";
    expect(write_text(rules_file(), pid + "\n" + root + "\n" + text +
                                        " cgroup=/a/b exe=/*\\x uid=0,65534 " +
                                        "comm=[!x]*?\"#' pid=1\n"),
           "rules");
    const std::string read = read_text(rules_file());
    CHECK(rule_comment(pid) == "applied to 1, matches 1");
    CHECK(rule_comment(root) == "applied to 1, matches 2");
    CHECK(rule_comment(all) == "applied to 1, matches 0");
    expect(write_text(rules_file(), read, O_TRUNC), "rules");
    CHECK(read_text(rules_file()) == read);
    target.end();
    CHECK(write_text(rules_file(), read, O_TRUNC) == fails(ENOENT));
    CHECK(read_text(rules_file()).empty());
}

TEST_CASE("63 sets of options can be in use, and their places are used again") {
    Kept kept;
    Instance instance;
    Program target(kept.event);
    {
        std::list<Rule> rules;
        for (int uid = 1; uid <= 63; uid++)
            rules.emplace_back(rule_text(kept.event, instance, "uid=" + std::to_string(uid)));
        // The same options in another rule are no further set.
        const Rule same("scope_none instance=" + instance.name() + " uid=1");
        CHECK(change_rule(rule_text(kept.event, instance, "uid=0")) == fails(ENOSPC));
        CHECK(target.bit() == 0);
    }
    for (int round = 0; round < 2; round++) {
        const Rule rule(rule_text(kept.event, instance, "uid=0"));
        CHECK(target.bit() == 1);
        CHECK(rule.comment() == "applied to 1, matches 2");
    }
    const Rule rule(rule_text(kept.event, instance, "uid=1"));
    CHECK(target.bit() == 0);
    CHECK(rule.comment() == "applied to 1, matches 0");
}
