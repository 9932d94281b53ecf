// SPDX-License-Identifier: GPL-2.0-only
// Rules with a limit or a sample: how many records are made, and how many are counted instead.
#include "catch.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "group.hpp"
#include "kernel_log.hpp"
#include "limited.hpp"
#include "mark.hpp"
#include "on_cpu.hpp"
#include "perf.hpp"
#include "program.hpp"
#include "registered.hpp"
#include "rule.hpp"
#include "slabs.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <linux/user_events_ext.h>
#include <list>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace selftest;

namespace {

using Clock = std::chrono::steady_clock;

/// A record of user_limit:suppressed.
struct Told {
    long process;
    unsigned long milliseconds, count;
    std::string event;
};

std::vector<Told> told_in(Instance& instance) {
    std::vector<Told> all;
    for (const std::string& line : instance.trace(Event("suppressed", USER_LIMIT_SYSTEM))) {
        Told told{};
        std::array<char, 600> event{};
        if (sscanf(line.c_str(), "suppressed: process=%ld milliseconds=%lu count=%lu event=%599s",
                   &told.process, &told.milliseconds, &told.count, event.data()) != 4)
            throw std::runtime_error("unexpected line: " + line);
        told.event = event.data();
        all.push_back(told);
    }
    return all;
}

/// How many payloads of a process were suppressed according to them.
unsigned long count_told(const std::vector<Told>& all, long process) {
    unsigned long sum = 0;
    for (const Told& told : all)
        sum += told.process == process ? told.count : 0;
    return sum;
}

/// Measures how many records a limit may have made. In a guest that gets little time, the ticks
/// that add tokens are late, and then come at once. This clock moves with them.
class Allowance {
public:
    explicit Allowance(unsigned rate) : rate_(rate) {}

    /// Those of the full bucket, and those of the time since the object was created.
    double most() const { return rate_ * (1 + now() - begin_) + 1; }

private:
    static double now() {
        timespec time{};
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }

    const unsigned rate_;
    const double begin_ = now();
};

/// Writes records, and returns how many writes failed.
int write_many(Registered& registered, int count) {
    int failed = 0;
    while (count--)
        failed += registered.record().error() != 0;
    return failed;
}

constexpr std::size_t rate = 50;
const std::string of_all = "limit=50/s", of_each = "limit=50/s/program";

} // namespace

TEST_CASE("A limit makes as many records as it says, and counts the others exactly") {
    Registered registered("");
    Instance instance;
    const std::string options = GENERATE(of_all, of_each);
    CAPTURE(options);
    constexpr int written = 5000;
    const Rule rule(rule_text(registered.event, instance, options));
    CHECK(rule.comment() == "applied to 1, suppressed 0");
    const Allowance allowance(rate);
    CHECK(write_many(registered, written) == 0);
    const double most = allowance.most();
    const auto made = instance.records().size();
    CHECK(made >= rate);
    CHECK(static_cast<double>(made) <= most);
    CHECK(suppressed(rule.comment()) == written - made);
    CHECK(suppressed(registered.status()) == written - made);
}

TEST_CASE("A limit is kept over several seconds", "[long]") {
    Registered registered("");
    Instance instance;
    const std::string options = GENERATE(of_all, of_each);
    const Rule rule(rule_text(registered.event, instance, options));
    const Allowance allowance(rate);
    unsigned long written = 0, failed = 0;
    for (const auto end = Clock::now() + std::chrono::seconds(3); Clock::now() < end; written++)
        failed += registered.record().error() != 0;
    CHECK(failed == 0);
    const double most = allowance.most();
    const auto made = instance.records().size();
    // No jiffy without a write is longer than a second.
    CHECK(made >= 3 * rate);
    CHECK(static_cast<double>(made) <= most);
    CHECK(made + suppressed(rule.comment()) == written);
}

TEST_CASE("A pause saves no more records for later than a second allows", "[long]") {
    Registered registered("");
    Instance instance;
    const std::string options = GENERATE(of_all, of_each);
    const Rule rule(rule_text(registered.event, instance, options));
    CHECK(registered.record().ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const Allowance allowance(rate);
    CHECK(write_many(registered, 4 * rate) == 0);
    const double most = 1 + allowance.most();
    CHECK(static_cast<double>(instance.records().size()) <= most);
}

TEST_CASE("A limit is for its instance, and others get every record") {
    Registered registered("");
    Instance limited, second, by_hand, of_rule;
    const int count = 2000;
    REQUIRE(by_hand.enable(registered.event) == succeeds());
    PerfEvent perf(perf_attributes(registered.event), 0, -1);
    const Rule rule(rule_text(registered.event, limited, of_all));
    const Rule other(rule_text(registered.event, second, "limit=1000000000/s"));
    const Rule unlimited(rule_text(registered.event, of_rule, ""));
    CHECK(write_many(registered, count) == 0);
    CHECK(limited.records().size() + suppressed(rule.comment()) == count);
    CHECK(second.records().size() == count);
    CHECK(by_hand.records().size() == count);
    CHECK(of_rule.records().size() == count);
    CHECK(perf.count() == count);
    REQUIRE(by_hand.disable(registered.event) == succeeds());
}

TEST_CASE("While 100 threads of a program flood, each record of a quiet one is made") {
    Kept kept;
    Instance instance;
    Program flooding(kept.event), quiet(kept.event);
    const Rule rule(rule_text(kept.event, instance, of_each));
    std::atomic<bool> quiet_is_done{false};
    std::atomic<int> failed{0};
    unsigned long floods = 0;
    std::thread thread([&] {
        do {
            failed += flooding.ask(Request::flood);
            floods++;
        } while (!quiet_is_done);
    });
    CHECK(eventually([&] { return suppressed(rule.comment()) > 0; }));
    for (unsigned i = 0; i < rate; i++)
        failed += quiet.ask(Request::record);
    quiet_is_done = true;
    thread.join();
    CHECK(failed == 0);
    unsigned long of_flood = 0, of_quiet = 0;
    for (const Record& record : instance.records())
        (record.pid() == quiet.pid() ? of_quiet : of_flood)++;
    CHECK(of_quiet == rate);
    CHECK(of_flood >= rate);
    CHECK(of_flood + suppressed(rule.comment()) == floods * flood_size);
}

TEST_CASE("A limit without /program is for all programs together") {
    Kept kept;
    Instance instance;
    std::list<Program> programs;
    for (int i = 0; i < 3; i++)
        programs.emplace_back(kept.event);
    const Rule rule(rule_text(kept.event, instance, "limit=1/s"));
    for (Program& program : programs)
        CHECK(program.ask(Request::flood) == 0);
    CHECK(instance.records().size() + suppressed(rule.comment()) == 3UL * flood_size);
    CHECK(suppressed(kept.status()) == suppressed(rule.comment()));
}

TEST_CASE("What programs that have exited lost stays in the count", "[long]") {
    Kept kept;
    Instance instance;
    const Rule rule(rule_text(kept.event, instance, "limit=2/s/program"));
    DataFile file;
    Word word{0};
    const auto index = file.must_register(&word, 0, kept.event.name());
    constexpr unsigned each = 20;
    std::size_t processes = 0;
    // After a second, the module frees what it has of the first ones.
    for (const auto end = Clock::now() + std::chrono::milliseconds(2500); Clock::now() < end;
         processes++) {
        const pid_t pid = fork();
        if (pid == 0) {
            for (unsigned j = 0; j < each; j++)
                file.record(index);
            _exit(0);
        }
        waitpid(pid, nullptr, 0);
    }
    const auto made = instance.records().size();
    CHECK(made >= 2 * processes);
    CHECK(made + suppressed(rule.comment()) == processes * each);
}

TEST_CASE("A limit forgets processes that have not written for a second, also if no other writes") {
    Registered registered("");
    Instance instance;
    const Rule rule(rule_text(registered.event, instance, of_each));
    // The limit takes 88 bytes for each process.
    const auto objects = [] { return count_slab_objects("kmalloc-", "-96"); };
    const unsigned long processes = fewer_if_debug(2000, 300);
    const unsigned long before = objects();
    for (unsigned long i = 0; i < processes; i += 50)
        CHECK(record_in_processes(registered, {}, 50) == 0);
    // RCU frees what was forgotten, a little later.
    CHECK(eventually([&] { return objects() < before + processes / 4; }));
}

TEST_CASE("sample=1/N makes one record of N, and a limit counts only these") {
    Registered registered("");
    Instance instance;
    const OnCpu pinned(0);
    const std::string options =
        GENERATE("sample=1/10", "limit=100000/s sample=1/10", "sample=1/10 limit=100000/s/program");
    const Rule rule(rule_text(registered.event, instance, options));
    CHECK(write_many(registered, 1000) == 0);
    CHECK(instance.records().size() == 100);
    CHECK(suppressed(registered.status()) == 0);
}

TEST_CASE("A rule with a limit needs an event that others have not enabled in the instance") {
    Registered registered("");
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    const Rule rule(rule_text(registered.event, instance, of_all));
    CHECK(rule.comment() == "applied to 0, suppressed 0, failed for 1: " + registered.event.name() +
                                ": recorded there for other programs, or with another filter or "
                                "limit");
    CHECK(write_many(registered, 200) == 0);
    CHECK(instance.records().size() == 200);
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("Rules for one instance add up if their limits are equal") {
    Kept kept;
    Instance instance;
    Program first(kept.event), second(kept.event);
    const auto of = [&](const Program& program, const std::string& limit) {
        return rule_text(kept.event, instance, limit + "pid=" + std::to_string(program.pid()));
    };
    std::optional<Rule> one(of(first, "limit=1/s "));
    CHECK(change_rule(of(second, GENERATE("", "limit=2/s ", "limit=1/s/program ",
                                          "sample=1/1 "))) == fails(EBUSY));
    CHECK(second.bit() == 0);
    const Rule two(of(second, "limit=1/s "));
    CHECK(first.bit() + second.bit() == 2);
    CHECK(first.ask(Request::flood) == 0);
    CHECK(second.ask(Request::flood) == 0);
    const auto lost = 2UL * flood_size - instance.records().size();
    CHECK(suppressed(two.comment()) == lost);
    CHECK(suppressed(one->comment()) == lost);
    // The limit stays with the rule that is left.
    one.reset();
    CHECK(second.ask(Request::flood) == 0);
    CHECK(suppressed(two.comment()) == lost + flood_size - instance.records().size());
}

TEST_CASE("An event that is registered later has the limit of the first of rules with others") {
    const Event event(unique_name("later"));
    Instance instance;
    Program first(event, false), second(event, false);
    const auto of = [&](const Program& program, const std::string& limit) {
        return rule_text(event, instance, limit + "pid=" + std::to_string(program.pid()));
    };
    const Rule one(of(first, "limit=1/s ")), two(of(second, GENERATE("", "limit=2/s ")));
    CHECK(first.ask(Request::add) == 0);
    CHECK(second.ask(Request::add) == 0);
    CHECK(first.bit() == 1);
    CHECK(second.bit() == 0);
    CHECK_THAT(two.comment(), Catch::Contains("failed for 1"));
}

TEST_CASE("Records in the instance tell what was suppressed, of which event and process",
          "[long]") {
    Kept kept;
    Instance instance, other;
    std::list<Program> programs;
    programs.emplace_back(kept.event);
    programs.emplace_back(kept.event);
    const Rule rule(rule_text(kept.event, instance, GENERATE(of_all, of_each)));
    const Rule unlimited(rule_text(kept.event, other, ""));
    const auto begin = Clock::now();
    for (Program& program : programs)
        CHECK(program.ask(Request::flood) == 0);
    std::vector<Told> told;
    const auto sum = [&] {
        told = told_in(instance);
        return count_told(told, programs.front().pid()) + count_told(told, programs.back().pid());
    };
    CHECK(eventually([&] { return sum() == suppressed(rule.comment()); }));
    unsigned wrong = 0;
    for (const Told& one : told)
        wrong += one.event != "user_events:" + kept.event.name();
    CHECK(wrong == 0);
    const auto passed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
    CHECK(std::all_of(told.begin(), told.end(), [=](const Told& one) {
        return one.milliseconds <= static_cast<unsigned long>(passed.count()) + 20;
    }));
    CHECK(told_in(other).empty());
    // Threads make the records, so only the sum is known.
    const unsigned long sum_told = sum();
    CHECK(instance.records().size() + sum_told == 2UL * flood_size);
    if (rule.text().ends_with("/program"))
        for (const Program& program : programs)
            CHECK(count_told(told, program.pid()) <= flood_size - rate);
}

TEST_CASE("Such a record has the whole name of an event and its system, however long they are") {
    const Group group("", "group" + std::string(27, 'g'));
    DataFile file = group.open();
    Word word{0};
    const Event event = group.event(std::string(has_eventfs() ? 511 : NAME_MAX, 'n'));
    const auto index = file.must_register(&word, 0, event.name());
    Instance instance;
    const Rule rule(event.system() + ":" + event.name() + " instance=" + instance.name() +
                    " limit=1/s");
    CHECK(rule.comment() == "applied to 1, suppressed 0");
    for (int i = 0; i < 10; i++)
        CHECK(file.record(index, {}).ok());
    std::vector<Told> told;
    REQUIRE(eventually([&] { return !(told = told_in(instance)).empty(); }));
    CHECK(told.front().event == event.system() + ":" + event.name());
}

TEST_CASE("With more than 63 processes in a second, others are counted as process 0", "[long]") {
    Kept kept;
    Instance instance;
    std::list<Program> programs;
    while (programs.size() < 100)
        programs.emplace_back(kept.event);
    const Rule rule(rule_text(kept.event, instance, "limit=1/s/program"));
    // On a slow machine, they need several seconds for a round.
    CHECK(eventually([&] {
        for (Program& program : programs)
            CHECK((program.ask(Request::record) == 0 && program.ask(Request::record) == 0));
        return count_told(told_in(instance), 0) != 0;
    }));
    CHECK(eventually([&] {
        const auto told = told_in(instance);
        return std::accumulate(told.begin(), told.end(), 0UL, [](auto sum, const Told& one) {
                   return sum + one.count;
               }) == suppressed(rule.comment());
    }));
}

TEST_CASE("A process has such a record once a second", "[long]") {
    Registered registered("");
    Instance instance;
    const Rule rule(rule_text(registered.event, instance, of_each));
    const auto begin = Clock::now();
    while (Clock::now() < begin + std::chrono::seconds(3))
        write_many(registered, 100);
    const auto records = told_in(instance).size();
    const std::chrono::duration<double> passed = Clock::now() - begin;
    CHECK(records >= 1);
    // The first one may come soon: the work item may have been waiting for another event.
    CHECK(static_cast<double>(records) <= passed.count() + 1);
}

TEST_CASE("What was suppressed is told when the rule is removed") {
    Registered registered("");
    Instance instance;
    const bool taken_over = GENERATE(false, true);
    const std::string next = rule_text(registered.event, instance, "");
    {
        const Rule rule(rule_text(registered.event, instance, of_all));
        if (taken_over)
            REQUIRE(change_rule(next) == succeeds());
        CHECK(write_many(registered, 500) == 0);
    }
    // Reading the records consumes those of the other event, too.
    const unsigned long told = count_told(told_in(instance), getpid());
    CHECK(instance.records().size() + told == 500);
    if (taken_over)
        REQUIRE(change_rule("!" + next) == succeeds());
}

TEST_CASE("A rule that takes an event over brings its own limit, or none") {
    Registered registered("");
    Instance instance;
    const bool limited = GENERATE(false, true);
    std::optional<Rule> first(rule_text(registered.event, instance, "limit=1/s"));
    const Rule next(rule_text(registered.event, instance, limited ? "limit=100/s" : ""));
    CHECK(write_many(registered, 1000) == 0);
    const auto lost = 1000 - instance.records().size();
    CHECK(suppressed(first->comment()) == lost);
    first.reset();
    CHECK(write_many(registered, 1000) == 0);
    const auto made = instance.records().size();
    CHECK(made >= (limited ? 100 : 1000));
    CHECK(suppressed(next.comment()) == 1000 - made);
    // The status counts what the first rule suppressed as well.
    CHECK(suppressed(registered.status()) == lost + 1000 - made);
}

TEST_CASE("An event that others change loses its limit when the rule is removed") {
    Registered registered("");
    Instance instance;
    {
        const Rule rule(rule_text(registered.event, instance, of_all));
        REQUIRE(instance.set_filter(registered.event, "common_pid > 0") == succeeds());
        write_many(registered, 1000);
        CHECK(instance.records().size() < 1000);
    }
    CHECK(registered.word == 1);
    CHECK(write_many(registered, 1000) == 0);
    CHECK(instance.records().size() == 1000);
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("The trigger of a rule with a limit acts on as many records as it says") {
    Registered registered("");
    Instance instance;
    const Rule rule(rule_text(registered.event, instance, of_all, " trigger hist:keys=common_pid"));
    CHECK(write_many(registered, 1000) == 0);
    const std::string histogram = read_text(instance.path(registered.event, "hist"));
    const auto hits = histogram.find("Hits: ");
    REQUIRE(hits != std::string::npos);
    CHECK(std::strtoul(&histogram[hits + 6], nullptr, 10) + suppressed(rule.comment()) == 1000);
}

TEST_CASE("The trigger of a rule keeps its limit when the rule is removed that records the event") {
    Registered registered("");
    Instance instance;
    const Rule trigger(
        rule_text(registered.event, instance, of_all, " trigger hist:keys=common_pid"));
    const std::string recording = rule_text(registered.event, instance, of_all);
    REQUIRE(change_rule(recording).ok());
    const Rule unlimited(rule_text(registered.event, instance, ""));
    REQUIRE(change_rule("!" + recording).ok());
    CHECK(write_many(registered, 1000) == 0);
    CHECK(instance.records().empty());
    CHECK(suppressed(trigger.comment()) > 0);
}

TEST_CASE("A payload that its instance does not want takes no token") {
    Registered registered(" u32 number");
    Instance instance;
    const auto write = [&](unsigned number, unsigned count) {
        unsigned failed = 0;
        while (count--)
            failed += registered.record(Payload().add<std::uint32_t>(number)).error() != 0;
        CHECK(failed == 0);
    };
    const std::string options = GENERATE(of_all, of_each);
    const std::string gate = GENERATE("filter", "tracing_on", "set_event_pid");
    CAPTURE(options, gate);
    const Rule rule(rule_text(registered.event, instance, options, " if number > 5"));
    if (gate == "tracing_on")
        expect(write_text(instance.path(gate), "0"), gate);
    else if (gate == "set_event_pid")
        expect(write_text(instance.path(gate), "1"), gate);
    write(gate == "filter" ? 5 : 6, 4 * rate);
    CHECK(instance.records().empty());
    CHECK(registered.word == 1);
    CHECK(suppressed(rule.comment()) == 0);
    if (gate == "tracing_on")
        expect(write_text(instance.path(gate), "1"), gate);
    else if (gate == "set_event_pid")
        expect(write_text(instance.path(gate), "", O_TRUNC), gate);
    write(6, rate);
    CHECK(instance.records().size() == rate);
    CHECK(suppressed(rule.comment()) == 0);
    write(6, 4 * rate);
    CHECK(rate + instance.records().size() + suppressed(rule.comment()) == 5 * rate);
    CHECK(suppressed(rule.comment()) > 0);
}

TEST_CASE("A payload that no buffer can hold fails beyond the limit as well") {
    Kept kept;
    Instance instance;
    Program program(kept.event);
    const Rule rule(rule_text(kept.event, instance, "limit=1/s"));
    CHECK(program.ask(Request::flood) == 0);
    CHECK(program.ask(Request::record_large) == E2BIG);
}

TEST_CASE("A rule with a bad limit is refused, with the reason in the log") {
    Instance instance;
    const auto [options, reason] = GENERATE(table<std::string, std::string>({
        {"limit=", "limit="},
        {"limit=0/s", "limit="},
        {"limit=1000000001/s", "limit="},
        {"limit=1/s/process", "limit="},
        {"limit=1/s limit=1/s", "twice"},
        {"sample=", "sample="},
        {"sample=1/0", "sample="},
        {"sample=1/1 sample=1/1", "twice"},
    }));
    KernelLog log;
    const std::string rules = read_text(rules_file());
    CHECK(change_rule("limit_bad_* instance=" + instance.name() + " " + options) == fails(EINVAL));
    CHECK(log.read().find(reason) != std::string::npos);
    CHECK(read_text(rules_file()) == rules);
    CHECK(change_rule("limit_bad_* limit=1/s") == fails(EINVAL));
    CHECK(change_rule("limit_bad_* sample=1/2") == fails(EINVAL));
}

TEST_CASE("Rules with limits can be written back as they are read") {
    Instance instance;
    const std::string text = "limit_none_* instance=" + instance.name();
    const std::string written =
        text + " sample=1/1000000000 limit=0001/s/program\n" + text + " limit=1000000000/s\n";
    expect(write_text(rules_file(), written), "rules");
    const std::string first = text + " limit=1/s/program sample=1/1000000000";
    const std::string second = text + " limit=1000000000/s";
    const std::string read = read_text(rules_file());
    CHECK(rule_line(first) == first + " # applied to 0, suppressed 0");
    CHECK(rule_line(second) == second + " # applied to 0, suppressed 0");
    expect(write_text(rules_file(), read, O_TRUNC), "rules");
    CHECK(read_text(rules_file()) == read);
    expect(write_text(rules_file(), "\n", O_TRUNC), "rules");
}

TEST_CASE("A rule for some programs does not take marks over") {
    Instance instance;
    const std::string text = "user_mark:text instance=" + instance.name();
    MarkFile file;
    std::optional<Rule> first(text + " limit=100/s");
    const Rule of_program(text + " pid=1");
    CHECK(file.write("before").error() == 0);
    CHECK(instance.records().size() == 1);
    first.reset();
    CHECK(file.write("after").error() == 0);
    CHECK(instance.records().empty());
    CHECK(of_program.comment().starts_with("applied to 0, "));
}

TEST_CASE("A rule that names their system limits marks, and no other rule is for them") {
    Instance instance;
    const std::string at = " instance=" + instance.name();
    const Rule all("*" + at), any_system("*:*" + at);
    MarkFile file;
    CHECK(file.write("before").error() == 0);
    CHECK(instance.records().empty());
    {
        const Rule rule("user_mark:*" + at + " limit=5/s/program");
        CHECK(rule.comment().starts_with("applied to 2"));
        int failed = 0;
        for (int i = 0; i < 500; i++)
            failed += file.write("text").error() != 0 || file.mark(7, "data").error() != 0;
        CHECK(failed == 0);
        const auto made = instance.records().size();
        CHECK(made >= 10);
        CHECK(made + suppressed(rule.comment()) == 1000);
        CHECK(eventually([&] { return count_told(told_in(instance), getpid()) == 1000 - made; }));
        CHECK(told_in(instance).back().event.starts_with("user_mark:"));
    }
    CHECK(file.write("after").error() == 0);
    CHECK(instance.records().empty());
    const Rule of_program("user_mark:text" + at + " pid=1");
    CHECK(of_program.comment() ==
          "applied to 0, matches 0, failed for 1: text: recorded for all programs only");
}

TEST_CASE(
    "A sample begins at random, so that rare events are not always left out, nor always recorded",
    "[long]") {
    constexpr unsigned rules = 100;
    Registered registered("");
    const OnCpu pinned(0);
    Instance instance;
    std::size_t made = 0;
    for (unsigned i = 0; i < rules; i++) {
        const Rule rule(rule_text(registered.event, instance, "sample=1/4"));
        CHECK(write_many(registered, 1) == 0);
        made += instance.records().size();
    }
    // 25 are expected; outside of these bounds with a probability below 10^-6.
    CHECK(made > 5);
    CHECK(made < 50);
}
