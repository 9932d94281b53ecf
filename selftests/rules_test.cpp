// SPDX-License-Identifier: GPL-2.0-only
// user_events_rules: events are recorded from their first record on.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "debug_kernel.hpp"
#include "descriptor.hpp"
#include "kernel_log.hpp"
#include "mapping.hpp"
#include "module.hpp"
#include "on_cpu.hpp"
#include "overlaps.hpp"
#include "registered.hpp"
#include "rule.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace selftest;

namespace {

const char* const fields = " u32 cents; __rel_loc char[] item";

Payload order(std::uint32_t cents, const std::string& item = "tea") {
    const auto size = static_cast<std::uint32_t>(item.size() + 1);
    return Payload().add(cents).add(location(0, size)).add_string(item);
}

Payload cents(std::uint32_t number) {
    return Payload().add(number);
}

/// The values of a field in all records of an instance, in order.
std::vector<long long> numbers(Instance& instance, const std::string& field = "a") {
    std::vector<long long> found;
    for (const Record& record : instance.records())
        found.push_back(record.number(field));
    return found;
}

using Numbers = std::vector<long long>;

/// An instance that a rule creates. It is removed at the end, once no rule names it.
class Created {
public:
    Created() : name(unique_name("created")) {}
    Created(const Created&) = delete;
    Created& operator=(const Created&) = delete;
    ~Created() { remove(); }
    Outcome remove() const { return Outcome::of(rmdir(path().c_str())); }
    std::string path() const { return tracing_file("instances/" + name); }
    std::string file(const Event& event, const std::string& file) const {
        return path() + "/events/" + event.system() + "/" + event.name() + "/" + file;
    }

    const std::string name;
};

std::string enable_text(const Instance& instance, const Event& event) {
    return read_text(instance.path(event, "enable"));
}

std::string filter_text(const Instance& instance, const Event& event) {
    return read_text(instance.path(event, "filter"));
}

} // namespace

TEST_CASE("user_events_rules has mode 0640 and is empty at first") {
    struct stat status;
    REQUIRE(stat(rules_file().c_str(), &status) == 0);
    CHECK((status.st_mode & (S_IFMT | 07777)) == (S_IFREG | 0640));
    CHECK(read_text(rules_file()).empty());
}

TEST_CASE("A rule records an event that did not exist from its first record on") {
    Instance instance;
    const Rule rule("rule_first_* instance=" + instance.name());
    CHECK(rule.comment() == "applied to 0");
    Registered registered(" u32 a", "rule_first");
    CHECK(registered.word == 1);
    CHECK(registered.record(cents(1)) == succeeds(8));
    CHECK(numbers(instance) == Numbers{1});
    CHECK(rule.comment() == "applied to 1");
    CHECK(registered.status() == " # Used by ftrace");
}

TEST_CASE("A rule sets the bit of each program that registers the event later") {
    Instance instance;
    const Rule rule("rule_later_* instance=" + instance.name());
    Registered registered("", "rule_later");
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 5, registered.event.name()) == succeeds());
    CHECK(word == 1u << 5);
    CHECK(rule.comment() == "applied to 1");
}

TEST_CASE("A rule is applied to events that exist") {
    Instance instance;
    Registered first(" u32 a", "rule_exists"), second(" u32 a", "rule_exists"),
        other(" u32 a", "rule_other");
    const Rule rule("rule_exists_* instance=" + instance.name());
    CHECK(rule.comment() == "applied to 2");
    CHECK((first.word == 1 && second.word == 1));
    CHECK(other.word == 0);
    CHECK(first.record(cents(1)) == succeeds(8));
    CHECK(second.record(cents(2)) == succeeds(8));
    CHECK(other.record(cents(3)) == fails(EBADF));
    CHECK(numbers(instance) == Numbers{1, 2});
}

TEST_CASE("A rule is applied to an event that dynamic_events creates") {
    Instance instance;
    const Rule rule("rule_dynamic_* instance=" + instance.name());
    const std::string name = unique_name("rule_dynamic");
    {
        const Definition definition("dynamic_events", "u:" + name + " u32 a", "-:" + name);
        CHECK(rule.comment() == "applied to 1");
        CHECK(enable_text(instance, Event(name)) == "1\n");
        Word word{0};
        DataFile file;
        const std::uint32_t index = file.must_register(&word, 0, name + " u32 a");
        CHECK(word == 1);
        CHECK(file.record(index, cents(1)) == succeeds(8));
        CHECK(instance.disable(Event(name)) == succeeds());
    }
    CHECK(Event(name).wait_removed());
}

TEST_CASE("A pattern is a glob over registered names, in any system") {
    Instance instance;
    const std::string name = unique_name("rule_glob");
    Word words[3] = {};
    DataFile file;
    const auto bits = [&](const std::string& pattern) {
        const Rule rule(pattern + " instance=" + instance.name());
        DataFile late;
        REQUIRE(late.register_event(&words[0], 0, name) == succeeds());
        REQUIRE(late.register_event(&words[1], 0, name + " u32 a", 4,
                                    USER_EVENT_REG_MULTI_FORMAT) == succeeds());
        REQUIRE(late.register_event(&words[2], 0, name + " u64 a", 4,
                                    USER_EVENT_REG_MULTI_FORMAT) == succeeds());
        return std::to_string(words[0]) + std::to_string(words[1]) + std::to_string(words[2]);
    };
    CHECK(bits(name) == "111");
    CHECK(bits("rule_glob*") == "111");
    CHECK(bits("*:" + name) == "111");
    CHECK(bits("user_events*:rule_glob?*") == "111");
    CHECK(bits("[q-s]ule_glob*") == "111");
    CHECK(bits("user_events:" + name) == "100");
    CHECK(bits("user_events_multi:rule_glob*") == "011");
    CHECK(bits("rule_glob") == "000");
    CHECK(bits("user_events") == "000");
    CHECK(bits("user_events_multi:" + name + ".0") == "000");
    CHECK(bits("sched:" + name) == "000");
}

TEST_CASE("A rule is applied to an event whose name is as short as its pattern, or shorter") {
    Instance instance;
    Word word{0};
    for (const std::string name : {"r", "r7", "r7_text", "r7_texts", "r7_texts_"}) {
        CAPTURE(name);
        const Rule rule(name + " instance=" + instance.name());
        const Rule longer("r7_texts_more* instance=" + instance.name());
        {
            DataFile file;
            REQUIRE(file.register_event(&word, 0, name) == succeeds());
            CHECK(word == 1);
            CHECK(rule.comment() == "applied to 1");
            CHECK(file.unregister(&word, 0) == succeeds());
            CHECK(instance.disable(Event(name)) == succeeds());
        }
        CHECK(Event(name).wait_removed());
    }
}

TEST_CASE("A rule without an instance records in the top-level one, with buffers of full size") {
    const auto size = [] { return read_text(tracing_file("buffer_size_kb")); };
    const std::string before = size();
    const Rule rule("rule_top_*");
    // A persistent buffer keeps the records of the previous boot until then.
    CHECK(size() == before);
    Registered registered(" u32 a", "rule_top");
    CHECK_THAT(size(), !Catch::Contains("expanded"));
    CHECK(registered.word == 1);
    CHECK(read_text(registered.event.path("enable")) == "1\n");
    CHECK(registered.record(cents(7)) == succeeds(8));
    CHECK_THAT(read_text(tracing_file("trace")),
               Catch::Contains(registered.event.name() + ": a=7"));
}

TEST_CASE("A rule creates its instance, which stays with its records when the rule is removed") {
    const Created created;
    Registered registered(" u32 a", "rule_stays");
    {
        const Rule rule("rule_stays_* instance=" + created.name);
        // The default for each CPU, in tenths of a MiB: newer kernels round up.
        if (read_text("/proc/cmdline").find("trace_buf_size=") == std::string::npos)
            CHECK((std::stoi(read_text(created.path() + "/buffer_size_kb")) * 10 + 512) / 1024 ==
                  14);
        CHECK(registered.record(cents(3)) == succeeds(8));
    }
    CHECK(registered.record(cents(4)) == fails(EBADF));
    CHECK(registered.word == 0);
    const std::string trace = read_text(created.path() + "/trace");
    CHECK_THAT(trace, Catch::Contains(registered.event.name() + ": a=3"));
    CHECK_THAT(trace, !Catch::Contains("a=4"));
    CHECK(created.remove() == succeeds());
}

TEST_CASE("An instance cannot be removed while a rule names it") {
    const Created created;
    {
        const Rule first("rule_busy_* instance=" + created.name);
        CHECK(created.remove() == fails(EBUSY));
        {
            const Rule second("rule_busy_x instance=" + created.name);
            CHECK(created.remove() == fails(EBUSY));
        }
        CHECK(created.remove() == fails(EBUSY));
    }
    CHECK(created.remove() == succeeds());
}

TEST_CASE("The filter of a rule holds from the first record on") {
    Instance instance;
    const Rule rule("rule_filter_* instance=" + instance.name() +
                    " if cents > 100 && item != \"# x\"");
    Registered registered(fields, "rule_filter");
    CHECK(registered.word == 1);
    for (std::uint32_t number : {50u, 150u, 100u, 101u})
        CHECK(registered.record(order(number)).ok());
    CHECK(registered.record(order(102, "# x")).ok());
    CHECK(numbers(instance, "cents") == Numbers{150, 101});
    CHECK(filter_text(instance, registered.event) == "cents > 100 && item != \"# x\"\n");
    CHECK(rule.remove() == succeeds());
    CHECK(filter_text(instance, registered.event) == "none\n");
}

TEST_CASE("A filter that does not fit leaves the event alone, and the file shows the reason") {
    Instance instance;
    Registered before(" u32 a", "rule_unfit");
    const Rule rule("rule_unfit_* instance=" + instance.name() + " if cents > 100");
    CHECK(rule.comment() ==
          "applied to 0, failed for 1: " + before.event.name() + ": Field not found");
    Registered registered(" u64 b", "rule_unfit");
    CHECK(registered.word == 0);
    CHECK(enable_text(instance, registered.event) == "0\n");
    CHECK(filter_text(instance, registered.event) == "none\n");
    CHECK(registered.record(Payload().add(1ull)) == fails(EBADF));
    Registered fitting(" u32 cents", "rule_unfit");
    CHECK(fitting.word == 1);
    CHECK(rule.comment() ==
          "applied to 1, failed for 2: " + registered.event.name() + ": Field not found");
    CHECK_THAT(read_text(instance.path("error_log")), Catch::Contains("Field not found"));
}

TEST_CASE("A rule changes and logs nothing for an event that it does not match") {
    Instance instance;
    const Rule rule("rule_match_* instance=" + instance.name() + " if cents > 100");
    KernelLog log;
    Registered registered(" u32 a", "rule_no_match");
    CHECK(registered.word == 0);
    CHECK(enable_text(instance, registered.event) == "0\n");
    CHECK(rule.comment() == "applied to 0");
    CHECK(read_text(instance.path("error_log")).empty());
    CHECK(log.read().empty());
}

TEST_CASE("The trigger of a rule counts the first record, and is removed with the rule") {
    Instance instance;
    const std::string trigger = "hist:keys=item:vals=cents:size=128";
    const Rule rule("rule_hist_* instance=" + instance.name() + " trigger " + trigger);
    Registered registered(" u32 cents; char[8] item", "rule_hist");
    CHECK(registered.word == 1);
    CHECK(registered.record(cents(300).add_bytes(Bytes(8, std::byte{'x'}))) == succeeds(16));
    CHECK_THAT(read_text(instance.path(registered.event, "hist")),
               Catch::Contains("hitcount:          1  cents:        300"));
    CHECK(instance.trace(registered.event).empty());
    CHECK(rule.comment() == "applied to 1");

    Registered misfit(" u32 a", "rule_hist");
    CHECK(misfit.word == 0);
    CHECK_THAT(rule.comment(),
               Catch::StartsWith("applied to 1, failed for 1: " + misfit.event.name() +
                                 ": the histogram needs a field"));
    CHECK(rule.remove() == succeeds());
    CHECK(registered.word == 0);
    CHECK_THAT(read_text(instance.path(registered.event, "trigger")),
               Catch::StartsWith("# Available triggers:"));
}

TEST_CASE("A rule is applied to at most max= events at a time, and counts more as failed") {
    Instance instance;
    const bool triggers = GENERATE(false, true);
    CAPTURE(triggers);
    const Rule rule("rule_max_* instance=" + instance.name() + " max=2" +
                    (triggers ? " trigger traceoff" : ""));
    CHECK_THAT(rule_line(rule.text()), Catch::StartsWith(rule.text()));
    {
        Registered first("", "rule_max"), second("", "rule_max"), third("", "rule_max");
        CHECK(first.word == 1);
        CHECK(second.word == 1);
        CHECK(third.word == 0);
        CHECK(rule.comment() ==
              "applied to 2, failed for 1: " + third.event.name() + ": more than 2 events");
        for (const Registered* one : {&first, &second})
            if (triggers)
                REQUIRE(
                    write_text(instance.path(one->event, "trigger"), "!traceoff", O_APPEND).ok());
            else
                REQUIRE(instance.disable(one->event) == succeeds());
    }
    // The events are removed, and others take their places.
    CHECK(eventually([] { return status().find("rule_max_") == std::string::npos; }));
    Registered fourth("", "rule_max");
    CHECK(fourth.word == 1);
}

TEST_CASE("A rule that has all its max= events can take one of these over from another rule") {
    Instance instance;
    Registered registered("", "rule_again");
    const Rule first("rule_again_* instance=" + instance.name() + " max=1");
    REQUIRE(instance.disable(registered.event) == succeeds());
    const std::string second = registered.event.name() + " instance=" + instance.name();
    REQUIRE(change_rule(second).ok());
    CHECK(registered.word == 1);
    REQUIRE(change_rule("!" + second).ok());
    CHECK(registered.word == 1);
}

TEST_CASE("Without max=, a rule with a trigger is applied to 512 events") {
    Instance instance;
    const Rule rule("rule_many_* instance=" + instance.name() + " trigger traceoff"),
        recording("rule_many_* instance=" + instance.name());
    Mapping memory(1);
    DataFile file;
    for (unsigned i = 0; i < 513; i++)
        REQUIRE(file.register_event(memory.at<Word>() + i, 0, unique_name("rule_many")).ok());
    CHECK_THAT(rule.comment(), Catch::StartsWith("applied to 512, failed for 1: "));
    CHECK(recording.comment() == "applied to 513");
}

TEST_CASE("Rules with a trigger and without one work for the same event") {
    Instance instance;
    const Rule recording("rule_both_* instance=" + instance.name());
    const Rule trigger("rule_both_* instance=" + instance.name() + " trigger traceoff if a == 3");
    Registered registered(" u32 a", "rule_both");
    for (std::uint32_t number : {1u, 2u, 3u, 4u})
        CHECK(registered.record(cents(number)) == succeeds(8));
    CHECK(numbers(instance) == Numbers{1, 2, 3});
    const bool trigger_first = GENERATE(false, true);
    CHECK((trigger_first ? trigger : recording).remove() == succeeds());
    CHECK(registered.word == 1);
    CHECK(enable_text(instance, registered.event) == (trigger_first ? "1\n" : "0*\n"));
    CHECK((trigger_first ? recording : trigger).remove() == succeeds());
    CHECK(registered.word == 0);
    CHECK(enable_text(instance, registered.event) == "0\n");
}

TEST_CASE("Several rules record an event in several instances") {
    Instance first, second;
    const Rule all("rule_two_* instance=" + first.name());
    const Rule some("rule_two_* instance=" + second.name() + " if a > 1");
    Registered registered(" u32 a", "rule_two");
    CHECK(registered.record(cents(1)) == succeeds(8));
    CHECK(registered.record(cents(2)) == succeeds(8));
    CHECK(numbers(first) == Numbers{1, 2});
    CHECK(numbers(second) == Numbers{2});
    CHECK(all.remove() == succeeds());
    CHECK(registered.word == 1);
    CHECK(registered.record(cents(3)) == succeeds(8));
    CHECK(numbers(first).empty());
    CHECK(numbers(second) == Numbers{3});
}

TEST_CASE("The first rule for an event in an instance counts; another takes over after it") {
    Instance instance;
    const Rule first("rule_over_* instance=" + instance.name() + " if a > 10");
    const Rule misfit("rule_over_* instance=" + instance.name() + " if b > 10");
    const Rule second("rule_ov* instance=" + instance.name() + " if a > 100");
    const Rule third("rule_ov* instance=" + instance.name());
    Registered registered(" u32 a", "rule_over");
    CHECK(first.comment() == "applied to 1");
    CHECK(second.comment() == "applied to 0, failed for 1: " + registered.event.name() +
                                  ": already enabled or filtered");
    CHECK(filter_text(instance, registered.event) == "a > 10\n");
    CHECK(first.remove() == succeeds());
    CHECK(registered.word == 1);
    CHECK(enable_text(instance, registered.event) == "1\n");
    CHECK(filter_text(instance, registered.event) == "a > 100\n");
    CHECK_THAT(second.comment(), Catch::StartsWith("applied to 1"));
    CHECK(second.remove() == succeeds());
    CHECK(filter_text(instance, registered.event) == "none\n");
    CHECK(registered.record(cents(1)) == succeeds(8));
    CHECK(numbers(instance) == Numbers{1});
    CHECK(third.remove() == succeeds());
    CHECK(registered.word == 0);
}

TEST_CASE("Removing a rule leaves alone what others have done to an event") {
    Instance instance;
    Registered registered(" u32 a", "rule_touch");
    const Event& event = registered.event;
    const std::string text = "rule_touch_* instance=" + instance.name() + " if a > 1";

    SECTION("the event was enabled before the rule was added") {
        REQUIRE(instance.enable(event) == succeeds());
        const Rule rule(text);
        CHECK(rule.comment() ==
              "applied to 0, failed for 1: " + event.name() + ": already enabled or filtered");
        CHECK(filter_text(instance, event) == "none\n");
        CHECK(rule.remove() == succeeds());
        CHECK(enable_text(instance, event) == "1\n");
    }
    SECTION("the event had a filter before the rule was added") {
        REQUIRE(instance.set_filter(event, "a == 7") == succeeds());
        const Rule rule(text);
        CHECK(enable_text(instance, event) == "0\n");
        CHECK(rule.remove() == succeeds());
        CHECK(filter_text(instance, event) == "a == 7\n");
    }
    SECTION("the event was disabled and enabled again") {
        const Rule rule(text);
        REQUIRE(instance.disable(event) == succeeds());
        REQUIRE(instance.enable(event) == succeeds());
        CHECK(rule.remove() == succeeds());
        CHECK(enable_text(instance, event) == "1\n");
        CHECK(filter_text(instance, event) == "a > 1\n");
    }
    SECTION("the event, which also has a trigger, was disabled and enabled again") {
        REQUIRE(write_text(instance.path(event, "trigger"), "traceoff if a == 1000").ok());
        const Rule rule(text);
        REQUIRE(instance.disable(event) == succeeds());
        REQUIRE(instance.enable(event) == succeeds());
        CHECK(rule.remove() == succeeds());
        // The exception: the module has not learned of it.
        CHECK(enable_text(instance, event) == "0*\n");
        CHECK(filter_text(instance, event) == "none\n");
        REQUIRE(
            write_text(instance.path(event, "trigger"), "!traceoff if a == 1000", O_APPEND).ok());
    }
    SECTION("the filter was changed") {
        const Rule rule(text);
        REQUIRE(instance.set_filter(event, "a > 2") == succeeds());
        CHECK(rule.remove() == succeeds());
        CHECK(enable_text(instance, event) == "1\n");
        CHECK(filter_text(instance, event) == "a > 2\n");
    }
    SECTION("the filter was removed") {
        const Rule rule(text);
        REQUIRE(instance.set_filter(event, "0") == succeeds());
        CHECK(rule.remove() == succeeds());
        CHECK(enable_text(instance, event) == "1\n");
    }
    instance.disable(event);
}

TEST_CASE("An event that was disabled by hand stays so, and is recorded when it is created again") {
    Instance instance;
    const std::string name = unique_name("rule_again");
    const Rule rule("rule_again_* instance=" + instance.name());
    {
        Word word{0};
        DataFile file;
        file.must_register(&word, 0, name + " u32 a");
        CHECK(word == 1);
        REQUIRE(instance.disable(Event(name)) == succeeds());
        CHECK(word == 0);
    }
    CHECK(Event(name).wait_removed());
    Word word{0};
    DataFile file;
    const std::uint32_t index = file.must_register(&word, 0, name + " u64 b");
    CHECK(word == 1);
    CHECK(file.record(index, Payload().add(5ull)) == succeeds(12));
    CHECK(numbers(instance, "b") == Numbers{5});
    CHECK(rule.comment() == "applied to 2");
}

TEST_CASE("A removed rule is not applied to new events") {
    Instance instance;
    { const Rule rule("rule_gone_* instance=" + instance.name()); }
    Registered registered("", "rule_gone");
    CHECK(registered.word == 0);
    CHECK(enable_text(instance, registered.event) == "0\n");
}

TEST_CASE("An event that a rule has enabled stays while the rule does, without any process") {
    Instance instance;
    const std::string name = unique_name("rule_alone");
    {
        const Rule rule("rule_alone_* instance=" + instance.name());
        CHECK(in_child([&] {
                  Word word{0};
                  DataFile file;
                  const std::uint32_t index = file.must_register(&word, 0, name + " u32 a");
                  return word == 1 && file.record(index, cents(1)).ok() ? 0 : 1;
              }) == 0);
        CHECK(eventually([&] { return status_line(name) == name + " # Used by ftrace"; }));
    }
    CHECK(Event(name).wait_removed());
}

TEST_CASE("What reading user_events_rules gives can be written back") {
    Instance instance;
    Registered registered(" u32 a", "rule_back");
    const std::string at = " instance=" + instance.name();
    const Rule rules[] = {Rule("rule_back_*" + at + " if cents > 100"), Rule("u*:rule_back_*" + at),
                          Rule("rule_back" + at + " trigger hist:keys=a if a > 1"),
                          Rule("rule_b[!x]*")};
    const std::string text = read_text(rules_file());
    CHECK(lines_of(text).size() == 4);
    REQUIRE(write_text(rules_file(), "", O_TRUNC) == succeeds());
    CHECK(read_text(rules_file()).empty());
    CHECK(registered.word == 0);
    CHECK(write_text(rules_file(), text, O_APPEND) == succeeds(static_cast<long>(text.size())));
    CHECK(read_text(rules_file()) == text);
    CHECK(registered.word == 1);
}

TEST_CASE("Opening user_events_rules with O_TRUNC removes all rules") {
    Instance instance;
    const std::string at = " instance=" + instance.name();
    Registered registered(" u32 a", "rule_all");
    REQUIRE(change_rule("rule_all_*" + at + " if a > 1") == succeeds());
    REQUIRE(change_rule("rule_al*" + at) == succeeds());
    REQUIRE(change_rule("rule_al*") == succeeds());
    CHECK(registered.word == 1);
    REQUIRE(write_text(rules_file(), "", O_TRUNC) == succeeds());
    CHECK(read_text(rules_file()).empty());
    CHECK(registered.word == 0);
    CHECK(registered.status().empty());
    CHECK(filter_text(instance, registered.event) == "none\n");
}

TEST_CASE("One write can have several lines, comments and empty lines") {
    Instance instance;
    const std::string at = " instance=" + instance.name();
    const std::string text = "# comment\n\n \t\nrule_x" + at + "\n\trule_y   " + at +
                             "  if  a ==  1 \t # comment\n!rule_x" + at + "# no comment\n";
    CHECK(write_text(rules_file(), text, O_APPEND) == fails(EINVAL));
    CHECK(rule_line("rule_y" + at + " if a ==  1") != "");
    CHECK(write_text(rules_file(), "!rule_x" + at + "\n!rule_y " + at + " if a ==  1", O_APPEND)
              .ok());
    CHECK(read_text(rules_file()).empty());
}

TEST_CASE("A write ends at the first line that fails; the lines before it have their effect") {
    Instance instance;
    const std::string at = " instance=" + instance.name() + "\n";
    CHECK(write_text(rules_file(), "rule_x" + at + "rule_x -\n" + "rule_y" + at, O_APPEND) ==
          fails(EINVAL));
    CHECK(read_text(rules_file()) == "rule_x instance=" + instance.name() + " # applied to 0\n");
    CHECK(write_text(rules_file(), "!rule_x" + at + "!rule_x" + at + "rule_y" + at, O_APPEND) ==
          fails(ENOENT));
    CHECK(read_text(rules_file()).empty());
}

TEST_CASE("A file of rules that is written again adds its new lines") {
    Instance instance;
    const std::string at = " instance=" + instance.name() + "\n";
    const Rule first("rule_first instance=" + instance.name());
    CHECK(write_text(rules_file(), "rule_first" + at + "rule_new" + at, O_APPEND).ok());
    CHECK_FALSE(rule_line("rule_new instance=" + instance.name()).empty());
    CHECK(change_rule("!rule_new instance=" + instance.name()) == succeeds());
}

TEST_CASE("A line that is cut between two writes, or has no newline, is one rule") {
    Instance instance;
    const std::string at = " instance=" + instance.name();
    const auto put = [](const Descriptor& file, const std::string& text) {
        return Outcome::of(write(file.number(), text.data(), text.size()));
    };
    {
        const Descriptor file = Descriptor::open(rules_file(), O_WRONLY | O_APPEND);
        REQUIRE(put(file, "# a comment\nrule_a" + at.substr(0, at.size() - 2)).ok());
        CHECK(read_text(rules_file()).empty());
        REQUIRE(put(file, at.substr(at.size() - 2, 1)).ok());
        REQUIRE(put(file, at.substr(at.size() - 1) + "\nrule_b" + at).ok());
        CHECK(read_text(rules_file()) == "rule_a" + at + " # applied to 0\n");
    }
    // The kept line takes effect when the file is closed.
    CHECK(read_text(rules_file()) ==
          "rule_a" + at + " # applied to 0\nrule_b" + at + " # applied to 0\n");
    {
        const Descriptor file = Descriptor::open(rules_file(), O_WRONLY | O_APPEND);
        // A write without any newline is a line, whose error it returns.
        CHECK(put(file, "!rule_a" + at).ok());
        CHECK(put(file, "!rule_a" + at) == fails(ENOENT));
        CHECK(put(file, "!rule_b" + at).ok());
        CHECK(read_text(rules_file()).empty());
        // What is kept is bounded, and dropped after an error.
        REQUIRE(put(file, "#\n#").ok());
        Outcome outcome = succeeds();
        unsigned parts = 0;
        for (; outcome.ok() && parts < 100; parts++)
            outcome = put(file, std::string(4000, '#'));
        CHECK(outcome == fails(EINVAL));
        CHECK(parts < 20);
        CHECK(put(file, "!rule_c" + at) == fails(ENOENT));
        REQUIRE(put(file, "#\nrule_d" + at).ok());
        CHECK(put(file, std::string("\0\n", 2)) == fails(EINVAL));
    }
    CHECK(read_text(rules_file()).empty());
    KernelLog log;
    CHECK(write_text(rules_file(), "# a comment\n!rule_c" + at, O_APPEND).ok());
    CHECK_THAT(log.read(), Catch::Contains("has no newline"));
}

TEST_CASE("A rule has at most 2048 characters") {
    Instance instance;
    const std::string start = "rule_long instance=" + instance.name() + " if a == ";
    const std::string text = start + std::string(2048 - start.size(), '1');
    CHECK(change_rule(text + "1") == fails(EINVAL));
    CHECK(change_rule(text) == succeeds());
    CHECK(rule_line(text) == text + " # applied to 0");
    CHECK(change_rule("!" + text + "1") == fails(EINVAL));
    CHECK(change_rule("!" + text) == succeeds());
}

TEST_CASE("A write takes 64 KiB at most") {
    const std::string comment = "# " + std::string(997, 'x') + "\n";
    std::string text;
    while (text.size() < 80000)
        text += comment;
    CHECK(write_text(rules_file(), text, O_APPEND) == succeeds(65536));
    CHECK(write_text(rules_file(), std::string(70000, 'x'), O_APPEND) == fails(EINVAL));
    const std::string with_nul = "order_x instance=any\n" + std::string(70000, '\0');
    CHECK(write_text(rules_file(), with_nul, O_APPEND) == fails(EINVAL));
    CHECK(read_text(rules_file()).empty());
}

TEST_CASE("A malformed rule fails with EINVAL, and the kernel log has the reason") {
    const struct {
        std::string text, reason;
    } malformed[] = {
        {":x", "no system before the colon"},
        {"user_events:", "no name after the colon"},
        {"x instance=", "no instance can have this name"},
        {"x instance=..", "no instance can have this name"},
        {"x instance=a/b", "no instance can have this name"},
        {"x instance=" + std::string(256, 'a'), "no instance can have this name"},
        {"x if", "no filter after \"if\""},
        {"x if # a > 1", "no filter after \"if\""},
        {"x cents > 1", "expected \"if\" or \"trigger\" after the pattern"},
        {"x instance=a instance=b", "an option is given twice"},
        {"x max=0", "not a number above 0 after \"max=\""},
        {"x max=a", "not a number above 0 after \"max=\""},
        {"x if a == \"b # c", "a quote without its end"},
        {"x trigger hist:keys=a if b == 'c", "a quote without its end"},
        {"x trigger", "no trigger after \"trigger\""},
        {std::string(2049, 'x'), "longer than 2048 characters"},
    };
    for (const auto& [text, reason] : malformed) {
        KernelLog log;
        CAPTURE(text);
        CHECK(change_rule(text) == fails(EINVAL));
        CHECK_THAT(log.read(), Catch::Contains(reason));
    }
    CHECK(write_text(rules_file(), std::string("a\0b\n", 4)) == fails(EINVAL));
    CHECK(read_text(rules_file()).empty());
}

TEST_CASE("The same rule again changes nothing, removing one that is not there fails with ENOENT") {
    Instance instance;
    const Rule rule("rule_same instance=" + instance.name() + " if a > 1");
    CHECK(change_rule(rule.text()) == succeeds());
    CHECK(change_rule("  rule_same\tinstance=" + instance.name() + " if   a > 1 # x") ==
          succeeds());
    CHECK(read_text(rules_file()) == rule.text() + " # applied to 0\n");
    CHECK(change_rule("!rule_same") == fails(ENOENT));
    CHECK(change_rule("!rule_same instance=" + instance.name()) == fails(ENOENT));
    CHECK(change_rule("! " + rule.text() + " # x") == succeeds());
    CHECK(change_rule("!" + rule.text()) == fails(ENOENT));
}

namespace {

void unload() {
    REQUIRE(eventually([] { return module::unload().ok(); }));
}

/// Events that registered programs have recorded in an instance, in the words of `trace`.
std::size_t records_in(const std::string& text, const std::string& words) {
    std::size_t count = 0;
    for (const std::string& line : lines_of(text))
        count += !line.starts_with("#") && line.find(words) != std::string::npos;
    return count;
}

/// Runs a program that registers an event, writes the numbers from 0 on, and is killed.
void run_and_crash(const std::string& name, std::uint32_t count) {
    Child program([&](Channel& channel) {
        Word word{0};
        DataFile file;
        const std::uint32_t index = file.must_register(&word, 0, name + " u32 a");
        for (std::uint32_t number = 0; number < count; number++)
            if (word != 1 || !file.record(index, cents(number)).ok())
                return 1;
        channel.send('d');
        abort();
    });
    REQUIRE(program.channel().receive<char>() == 'd');
    REQUIRE(program.wait() == -SIGABRT);
}

} // namespace

TEST_CASE("A rule cannot have a trigger that reaches beyond its event") {
    Registered event(" u32 id", "rule_beyond");
    const auto before = read_text(event.event.path("trigger"));
    const auto [trigger, reason] = GENERATE(table<std::string, std::string>({
        {"hist:name=orders:keys=id:size=128", "only have keys="},
        {"hist:keys=id:x=common_pid", "only have keys="},
        {"hist:keys=id:y=$x", "only have keys="},
        {"hist:keys=$x", "as the keys"},
        {"hist:keys=id:vals=$x", "as the values"},
        {"hist:keys=id:ts0=common_timestamp.usecs", "only have keys="},
        {"hist:keys=common_timestamp", "as the keys"},
        {"hist:keys=id:vals=common_timestamp", "as the values"},
        {"hist:keys=id:clock=mono", "only have keys="},
        {"hist:keys=id:onmax(id).snapshot()", "only have keys="},
        {"hist:keys=id:onmatch(sched.sched_switch).trace(x,id)", "only have keys="},
        {"hist:keys=id:pause", "only have keys="},
        {"hist:keys=id:cont", "only have keys="},
        {"hist:keys=id:clear if id > 1", "only have keys="},
        {"hist:keys=id+common_pid", "as the keys"},
        {"hist:keys=id:size=131072", "after \"size=\""},
        {"enable_event:sched:sched_switch", "none of traceon"},
        {"disable_hist:user_events:other", "none of traceon"},
        {"!traceoff", "none of traceon"},
        {"traceoff:x", "above 0"},
    }));
    CAPTURE(trigger);
    KernelLog log;
    CHECK(change_rule("rule_beyond_* trigger " + trigger) == fails(EINVAL));
    CHECK_THAT(log.read(), Catch::Contains(reason));
    CHECK(event.word == 0);
    CHECK(read_text(event.event.path("trigger")) == before);
    CHECK(read_text(rules_file()).empty());
}

TEST_CASE(
    "A histogram of a rule takes only fields of the event, and as a number only one that is") {
    Instance instance;
    Registered event(
        " u32 n; char[16] s; __rel_loc char[] r; struct char[ text 40; u32 twice; char[16] twice",
        "rule_number");
    const auto [trigger, fits] = GENERATE(table<std::string, bool>({
        {"hist:keys=n.log2:vals=n:size=128", true},
        {"hist:keys=s,n.buckets=5:size=128", true},
        {"hist:keys=s.log2:size=128", false},
        {"hist:keys=n,r.log2:size=128", false},
        {"hist:keys=s.buckets=5:size=128", false},
        {"hist:keys=n:vals=s:size=128", false},
        {"hist:keys=n:vals=hitcount,common_pid:size=128", true},
        {"hist:keys=text:vals=n:size=128", true},
        {"hist:keys=text.log2:size=128", false},
        {"hist:keys=text.buckets=10:size=128", false},
        {"hist:keys=n:vals=text:size=128", false},
        {"hist:keys=absent:size=128", false},
        {"hist:keys=common_pid,common_cpu.log2:size=128", true},
        {"hist:keys=STACKTRACE:size=128", false},
        {"hist:keys=comm:size=128", false},
        {"hist:keys=COMM.log2:size=128", false},
        {"hist:keys=common_comm.buckets=2147483647:size=128", false},
        {"hist:keys=n:vals=common_comm:size=128", false},
        {"hist:keys=twice:size=128", true},
        {"hist:keys=twice.log2:size=128", false},
        {"hist:keys=n:vals=twice:size=128", false},
    }));
    CAPTURE(trigger);
    const Rule rule("rule_number_* instance=" + instance.name() + " trigger " + trigger);
    CHECK(event.word == fits);
    CHECK(
        rule.comment() ==
        (fits ? "applied to 1"
              : "applied to 0, failed for 1: " + event.event.name() +
                    ": the histogram needs a field that the event lacks, or that is not a number"));
    CHECK(rule.remove() == succeeds());
    CHECK(event.word == 0);
}

TEST_CASE("The triggers of rules keep the clock and the records of their instance") {
    Instance instance;
    expect(write_text(instance.path("trace_clock"), "mono"), "set the clock");
    const Rule recording("rule_keep_* instance=" + instance.name());
    Registered first(" u32 a", "rule_keep");
    CHECK(first.record(cents(1)) == succeeds(8));
    const auto trigger = GENERATE(
        as<std::string>(), "traceon", "traceoff:1 if a == 7", "snapshot:1 if a == 7",
        "stacktrace:2 if a == 7", "hist:keys=a.hex,common_pid.execname,common_stacktrace:size=128",
        "hist:key=a.buckets=10,common_cpu:values=hitcount,a:sort=a.descending:size=128 if a > 0");
    CAPTURE(trigger);
    const Rule rule("rule_keep_* instance=" + instance.name() + " trigger " + trigger);
    Registered second(" u32 a", "rule_keep");
    CHECK(second.record(cents(2)) == succeeds(8));
    CHECK_THAT(read_text(instance.path("trace_clock")), Catch::Contains("[mono]"));
    CHECK(rule.remove() == succeeds());
    CHECK(numbers(instance) == Numbers{1, 2});
}

TEST_CASE("A rule can be removed whose trigger was removed by hand, and leaves other triggers") {
    Registered event(" u32 id", "rule_hand");
    const std::string trigger = "hist:keys=id:size=128", other = "hist:keys=common_pid:size=128";
    const Rule rule("rule_hand_* trigger " + trigger);
    REQUIRE(write_text(event.event.path("trigger"), other, O_APPEND).ok());
    REQUIRE(write_text(event.event.path("trigger"), "!" + trigger, O_APPEND).ok());
    CHECK(rule.remove() == succeeds());
    CHECK_THAT(read_text(event.event.path("trigger")), Catch::Contains("hist:keys=common_pid"));
    CHECK(read_text(rules_file()).empty());
    CHECK(write_text(event.event.path("trigger"), "!" + other, O_APPEND).ok());
    CHECK(event.word == 0);
}

TEST_CASE("Of two rules with one histogram for one event, the second fails, and removing it leaves "
          "the first") {
    Registered event(" u32 id", "rule_twice");
    const Rule first("rule_twice_* trigger hist:keys=id:size=128"),
        second("rule_tw* trigger hist:key=id:size=256");
    CHECK(first.comment() == "applied to 1");
    CHECK_THAT(second.comment(), Catch::StartsWith("applied to 0, failed for 1"));
    CHECK(second.remove() == succeeds());
    CHECK(event.word == 1);
    CHECK(first.remove() == succeeds());
    CHECK(event.word == 0);
}

TEST_CASE("The parameter rules adds rules at load; a bad one is logged, and the others work") {
    const module::Loaded loaded;
    const Created created;
    unload();
    KernelLog log;
    REQUIRE(module::load("rules=\"rule_param_a instance=" + created.name +
                         "; nonsense x;rule_param_b* instance=" + created.name +
                         " if a > 1;;rule_param_a instance=" + created.name + "\"") == succeeds());
    const std::string text = log.read();
    CHECK_THAT(text,
               Catch::Contains("bad rule") && Catch::Contains(": nonsense x\n") &&
                   Catch::Contains("rule nonsense x of the parameter is not added: error -22"));
    CHECK_THAT(text, !Catch::Contains("rule rule_param_a"));
    const std::string at = " instance=" + created.name;
    CHECK(read_text(rules_file()) == "rule_param_a" + at + " # applied to 0\nrule_param_b*" + at +
                                         " if a > 1 # applied to 0\n");
    {
        Registered registered(" u32 a", "rule_param_b");
        CHECK(registered.word == 1);
        CHECK(registered.record(cents(1)).ok());
        CHECK(registered.record(cents(2)).ok());
        CHECK(records_in(read_text(created.path() + "/trace"), registered.event.name()) == 1);
        CHECK(write_text(rules_file(), "", O_TRUNC) == succeeds());
    }
}

TEST_CASE("The parameter rules has at most 1024 characters") {
    const module::Loaded loaded;
    const auto load = [](std::size_t length) {
        const std::string start = "rule_param_long if a == ";
        return module::load("rules=\"" + start + std::string(length - start.size(), '1') + "\"");
    };
    unload();
    CHECK(load(1025) == fails(ENOSPC));
    REQUIRE(load(1024) == succeeds());
    CHECK(lines_of(read_text(rules_file())).size() == 1);
    CHECK(write_text(rules_file(), "", O_TRUNC) == succeeds());
}

TEST_CASE("Unloading frees rules whose events are not enabled, and releases their instances") {
    const module::Loaded loaded;
    const Created created;
    REQUIRE(change_rule("rule_unload_* instance=" + created.name) == succeeds());
    REQUIRE(change_rule("rule_unload_*") == succeeds());
    {
        Registered registered("", "rule_unload");
        CHECK_FALSE(module::unload().ok());
        CHECK(write_text(created.file(registered.event, "enable"), "0").ok());
        CHECK(registered.event.disable().ok());
    }
    unload();
    CHECK_FALSE(exists(rules_file()));
    CHECK(created.remove() == succeeds());
    REQUIRE(module::load() == succeeds());
    CHECK(read_text(rules_file()).empty());
}

TEST_CASE("After a crash a rule keeps the event, and its records stay printable") {
    Instance instance;
    const std::string name = unique_name("rule_crash");
    {
        const Rule rule("rule_crash_* instance=" + instance.name());
        run_and_crash(name, 3);
        CHECK(exists(instance.path(Event(name), "format")));
    }
    // The event itself is removed, its records are not.
    CHECK(Event(name).wait_removed());
    CHECK(instance.trace(Event(name)) ==
          std::vector<std::string>{name + ": a=0", name + ": a=1", name + ": a=2"});
}

TEST_CASE("Readers of trace all see the same records; readers of trace_pipe consume them") {
    Instance instance;
    const std::string name = unique_name("rule_read");
    const Rule rule("rule_read_* instance=" + instance.name());
    run_and_crash(name, 3);

    const Descriptor first = Descriptor::open(instance.path("trace"), O_RDONLY);
    const Descriptor second = Descriptor::open(instance.path("trace"), O_RDONLY);
    char text[2][8192];
    for (int round = 0; round < 2; round++) {
        const Descriptor& file = round ? second : first;
        std::string all;
        for (ssize_t size; (size = read(file.number(), text[round], sizeof(text[round]))) > 0;)
            all.append(text[round], static_cast<std::size_t>(size));
        CHECK(records_in(all, name) == 3);
    }
    const Descriptor pipe = Descriptor::open(instance.path("trace_pipe"), O_RDONLY | O_NONBLOCK);
    std::string taken;
    for (ssize_t size; (size = read(pipe.number(), text[0], sizeof(text[0]))) > 0;)
        taken.append(text[0], static_cast<std::size_t>(size));
    CHECK(records_in(taken, name) == 3);
    CHECK(instance.trace(Event(name)).empty());
}

TEST_CASE("The buffer of an instance overwrites the oldest records, and keeps the last ones") {
    Instance instance;
    const std::string name = unique_name("rule_old");
    REQUIRE(write_text(instance.path("buffer_size_kb"), "4").ok());
    const Rule rule("rule_old_* instance=" + instance.name());
    const std::uint32_t count = 5000;
    run_and_crash(name, count);
    const Numbers kept = numbers(instance);
    REQUIRE_FALSE(kept.empty());
    CHECK(kept.size() < count);
    CHECK(kept.back() == count - 1);
    CHECK(std::ranges::is_sorted(kept));
}

TEST_CASE("A snapshot keeps a moment while recording continues") {
    Instance instance;
    const std::string name = unique_name("rule_snap");
    const Rule recording("rule_snap_* instance=" + instance.name());
    const Rule snapshot("rule_snap_* instance=" + instance.name() + " trigger snapshot if a == 2");
    run_and_crash(name, 5);
    // The trigger swaps the buffers, after number 2 was recorded or before.
    const std::string kept = read_text(instance.path("snapshot"));
    CHECK(records_in(kept, name + ": a=0") == 1);
    CHECK(records_in(kept, name + ": a=1") == 1);
    CHECK(records_in(kept, name + ": a=3") == 0);
    const std::string now = read_text(instance.path("trace"));
    CHECK(records_in(now, name + ": a=1") == 0);
    CHECK(records_in(now, name + ": a=4") == 1);
}

namespace {

/// A process on the second CPU that registers `count` events with unique names, one after the
/// other, and writes a record of each. Its exit status is 0 if each was accepted, or if rules need
/// not record all of them.
Child registering(const char* topic, unsigned count, bool all_recorded,
                  const SharedOverlaps& overlaps) {
    return Child([=, &overlaps](Channel&) {
        const OnCpu second(1);
        for (unsigned number = 0; number < count; number++) {
            Word word{0};
            DataFile file;
            const std::uint32_t index = overlaps->theirs(
                [&] { return file.must_register(&word, 0, unique_name(topic) + " u32 a"); });
            const bool enabled = word == 1;
            if (!(enabled && file.record(index, cents(1)).ok()) && all_recorded)
                return 1;
        }
        return 0;
    });
}

bool is_running(const Child& child) {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == 0;
}

} // namespace

TEST_CASE("Each event is recorded from its first record on while other rules change", "[race]") {
    const unsigned long active = stable_status_count("Active: ");
    const SharedOverlaps overlaps;
    {
        Instance instance;
        const Rule misfit("rule_race_* instance=" + instance.name() + " if b > 5");
        const Rule constant("rule_race_* instance=" + instance.name());
        Child program = registering("rule_race", fewer_if_debug(300), true, overlaps);
        while (is_running(program)) {
            const Created created;
            const auto add = [&](const std::string& text) {
                return overlaps->ours([&] { return std::make_unique<const Rule>(text); });
            };
            const auto rule = add("rule_race* instance=" + created.name + " if a > 0");
            const auto same = add("rule_rac* instance=" + instance.name());
            const auto trigger = add("rule_r* instance=" + created.name + " trigger stacktrace:1");
            CHECK(created.remove() == fails(EBUSY));
        }
        CHECK(program.wait() == 0);
        CHECK(overlaps->count() > 0);
        CHECK(numbers(instance).size() == fewer_if_debug(300));
    }
    CHECK(eventually([&] { return status_count("Active: ") == active; }));
}

TEST_CASE("Rules are removed while their events are registered and removed", "[race]") {
    const unsigned long active = stable_status_count("Active: ");
    const SharedOverlaps overlaps;
    const auto change = [&](const std::string& text) {
        return overlaps->ours([&] { return change_rule(text); });
    };
    Child program = registering("rule_churn", fewer_if_debug(1000), false, overlaps);
    while (is_running(program)) {
        const Created created;
        REQUIRE(change("rule_churn_* instance=" + created.name + " if a > 0") == succeeds());
        REQUIRE(change("rule_ch* instance=" + created.name) == succeeds());
        // Events that are disabled by hand are removed while the rules still have them.
        write_text(created.path() + "/events/user_events/enable", "0");
        REQUIRE(change("!rule_churn_* instance=" + created.name + " if a > 0") == succeeds());
        REQUIRE(write_text(rules_file(), "", O_TRUNC) == succeeds());
        CHECK(created.remove() == succeeds());
    }
    CHECK(program.wait() == 0);
    CHECK(overlaps->count() > 0);
    CHECK(eventually([&] { return status_count("Active: ") == active; }));
}

TEST_CASE("Two administrators change the same rules, and a third reads them", "[race][long]") {
    const unsigned long active = stable_status_count("Active: ");
    const SharedOverlaps overlaps;
    {
        Created created;
        const std::string text = "rule_admin_* instance=" + created.name;
        Registered registered(" u32 a", "rule_admin");
        Child other([&](Channel& channel) {
            const OnCpu second(1);
            Rounds rounds(fewer_if_debug(200), 5000, std::chrono::seconds(5));
            while (rounds.next()) {
                const Outcome added = overlaps->theirs([&] { return change_rule(text); });
                const Outcome removed = overlaps->theirs([&] { return change_rule("!" + text); });
                if (!added.ok() || (!removed.ok() && removed != fails(ENOENT)))
                    return 1;
            }
            channel.send('d');
            return 0;
        });
        Child reader([](Channel& channel) {
            for (pollfd done{channel.descriptor(), POLLIN, 0}; poll(&done, 1, 0) == 0;)
                read_text(rules_file());
            return 0;
        });
        Rounds rounds(fewer_if_debug(200), 5000, std::chrono::seconds(5));
        while (rounds.next()) {
            const Outcome added = overlaps->ours([&] { return change_rule(text); });
            CHECK(added.ok());
            const Outcome removed = overlaps->ours([&] { return change_rule("!" + text); });
            CHECK((removed.ok() || removed == fails(ENOENT)));
        }
        CHECK(other.channel().receive<char>() == 'd');
        CHECK(other.wait() == 0);
        reader.channel().send('d');
        CHECK(reader.wait() == 0);
        CHECK(overlaps->count() > 0);
        CHECK(read_text(rules_file()).empty());
        CHECK(registered.word == 0);
    }
    CHECK(eventually([&] { return status_count("Active: ") == active; }));
}
