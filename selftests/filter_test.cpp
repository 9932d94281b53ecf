// SPDX-License-Identifier: GPL-2.0-only
// Filters of ftrace on fields of every type, and the other ways to select events and tasks.
#include "catch.hpp"
#include "child.hpp"
#include "on_cpu.hpp"
#include "registered.hpp"
#include "text_file.hpp"

using namespace selftest;

namespace {

/// A recorded event whose filter can be set.
struct Filtered : Recorded {
    using Recorded::Recorded;

    Outcome filter(const std::string& text) { return instance.set_filter(event, text); }

    /// Sets a filter, writes one record and returns the number of records in the instance.
    std::size_t passes(const std::string& text, const Payload& payload) {
        expect(filter(text), "filter " + text);
        expect(record(payload), "record");
        return instance.records().size();
    }
};

struct Case {
    const char* filter;
    bool passes;
};

} // namespace

TEST_CASE("Filters compare numbers with the size and signedness of their type") {
    Filtered recorded(" s64 a; u64 b; s32 c; u32 d; int e; unsigned int f; s16 g; u16 h; short i;"
                      " unsigned short j; s8 k; u8 l; char m; unsigned char n");
    const Payload payload = Payload()
                                .add<std::int64_t>(-5000000000)
                                .add<std::uint64_t>(18000000000000000000u)
                                .add<std::int32_t>(-2000000000)
                                .add<std::uint32_t>(4000000000)
                                .add<std::int32_t>(-7)
                                .add<std::uint32_t>(3000000001)
                                .add<std::int16_t>(-30000)
                                .add<std::uint16_t>(60000)
                                .add<std::int16_t>(-2)
                                .add<std::uint16_t>(65535)
                                .add<std::int8_t>(-100)
                                .add<std::uint8_t>(200)
                                .add<char>(-3)
                                .add<std::uint8_t>(255);
    const Case cases[] = {
        {"a == -5000000000", true},
        {"a < 0", true},
        {"a > -4999999999", false},
        {"b == 18000000000000000000", true},
        {"b > 9223372036854775807", true},
        {"b < 18000000000000000000", false},
        {"c == -2000000000", true},
        {"c >= 0", false},
        {"d == 4000000000", true},
        {"d > 0", true},
        {"d != 4000000000", false},
        {"e <= -7", true},
        {"e < -7", false},
        {"f >= 3000000001", true},
        {"f > 3000000001", false},
        {"g == -30000", true},
        {"g > 0", false},
        {"h == 60000", true},
        {"h < 32768", false},
        {"i == -2", true},
        {"i == 2", false},
        {"j == 65535", true},
        {"j < 65535", false},
        {"k == -100", true},
        {"k > 0", false},
        {"l == 200", true},
        {"l < 128", false},
        {"m == -3", true},
        {"m > -3", false},
        {"n == 0xff", true},
        {"n < 255", false},
        // Bit masks.
        {"l & 8", true},
        {"l & 7", false},
        {"d & 0x80000000", true},
        {"h & 0x8000 && g & 1", false},
        // Combined conditions.
        {"a < 0 && b > 0 && l == 200", true},
        {"a > 0 || l == 201", false},
        {"!(a > 0) && (l == 1 || n == 255)", true},
    };
    for (const Case& test : cases) {
        CAPTURE(test.filter);
        CHECK(recorded.passes(test.filter, payload) == (test.passes ? 1 : 0));
    }
}

TEST_CASE("Filters compare strings in arrays and in dynamic fields") {
    Filtered recorded(" char[8] array; unsigned char[8] whole; __rel_loc char[] near;"
                      " __data_loc char[] far");
    const Payload payload = Payload()
                                .add_characters({"alpha\0\0\0", 8})
                                .add_characters("beta5678")
                                .add(location(4, 6))
                                .add(location(38, 8))
                                .add_string("gamma")
                                .add_string("epsilon");
    const Case cases[] = {
        {"array == \"alpha\"", true},
        {"array != \"alpha\"", false},
        {"array == \"alph\"", false},
        {"array ~ \"al*\"", true},
        {"array ~ \"*h?\"", true},
        {"array ~ \"*b*\"", false},
        {"whole ~ \"beta567*\"", true},
        {"whole ~ \"*beta6*\"", false},
        {"near == \"gamma\"", true},
        {"near != \"gamma\"", false},
        {"near == \"epsilon\"", false},
        {"near ~ \"g*a\"", true},
        {"near ~ \"*mma\"", true},
        {"near ~ \"[xg]amma\"", true},
        {"near ~ \"*psi*\"", false},
        {"far == \"epsilon\"", true},
        {"far == \"gamma\"", false},
        {"far ~ \"*psi*\"", true},
        {"far ~ \"*amma\"", false},
        {"near == \"gamma\" && far != \"gamma\" && array ~ \"al*\"", true},
    };
    for (const Case& test : cases) {
        CAPTURE(test.filter);
        CHECK(recorded.passes(test.filter, payload) == (test.passes ? 1 : 0));
    }
}

TEST_CASE("Filters can use the common fields, cpu and comm") {
    Filtered recorded(" u32 a");
    const Payload payload = Payload().add(1u);
    const std::string pid = std::to_string(gettid()), id = std::to_string(recorded.event.id());

    CHECK(recorded.passes("common_pid == " + pid, payload) == 1);
    CHECK(recorded.passes("common_pid != " + pid, payload) == 0);
    CHECK(recorded.passes("common_type == " + id, payload) == 1);
    CHECK(recorded.passes("common_type != " + id, payload) == 0);
    CHECK(recorded.passes("cpu >= 0", payload) == 1);
    CHECK(recorded.passes("cpu == 4095", payload) == 0);
    CHECK(recorded.passes("comm ~ \"filter_*\"", payload) == 1);
    CHECK(recorded.passes("comm == \"no_such_task\"", payload) == 0);

    // A child has another pid.
    REQUIRE(recorded.filter("common_pid == " + pid) == succeeds());
    CHECK(in_child([&] { return recorded.record(payload).ok() ? 0 : 1; }) == 0);
    CHECK(recorded.instance.records().empty());
}

TEST_CASE("Fields named cpu, comm and stacktrace take precedence in filters") {
    Filtered recorded(" u32 cpu; char[16] comm; u32 stacktrace");
    const Payload payload =
        Payload().add(4095u).add_characters({"not the task\0\0\0\0", 16}).add(7u);
    CHECK(recorded.passes("cpu == 4095", payload) == 1);
    CHECK(recorded.passes("cpu != 4095", payload) == 0);
    CHECK(recorded.passes("comm == \"not the task\"", payload) == 1);
    CHECK(recorded.passes("comm ~ \"filter_*\"", payload) == 0);
    CHECK(recorded.passes("stacktrace == 7", payload) == 1);
    CHECK(recorded.passes("stacktrace != 7", payload) == 0);
}

TEST_CASE("Filters accept CPU lists if the kernel supports them, else fail with EINVAL") {
    Filtered recorded(" u32 a; u64 mask");
    const auto record_on = [&](int cpu) {
        const OnCpu on_cpu(cpu);
        CHECK(recorded.record(Payload().add(static_cast<std::uint32_t>(cpu)).add<std::uint64_t>(2))
                  .ok());
    };
    const auto cpus = [&] {
        std::vector<long long> found;
        for (int cpu : {0, 1})
            record_on(cpu);
        for (const Record& record : recorded.instance.records())
            found.push_back(record.number("a"));
        return found;
    };
    using Cpus = std::vector<long long>;
    // A scheduler event shows whether this kernel has CPU lists: 6.1 does not, 6.12 does.
    const std::string other_event = recorded.instance.path("events/sched/sched_switch/filter");
    if (!write_text(other_event, "CPU & CPUS{0}").ok()) {
        for (const char* filter : {"CPU & CPUS{0}", "CPU == CPUS{1}", "a & CPUS{1}"}) {
            CAPTURE(filter);
            CHECK(recorded.filter(filter) == fails(EINVAL));
        }
        return;
    }
    REQUIRE(write_text(other_event, "0").ok());
    REQUIRE(recorded.filter("CPU & CPUS{1}") == succeeds());
    CHECK(cpus() == Cpus{1});
    REQUIRE(recorded.filter("CPU & CPUS{0-1}") == succeeds());
    CHECK(cpus() == Cpus{0, 1});
    REQUIRE(recorded.filter("CPU != CPUS{1}") == succeeds());
    CHECK(cpus() == Cpus{0});
    // The value of a field is taken as a CPU number.
    REQUIRE(recorded.filter("a & CPUS{1}") == succeeds());
    CHECK(cpus() == Cpus{1});
    REQUIRE(recorded.filter("mask & CPUS{0-1}") == succeeds());
    CHECK(cpus().empty());
    CHECK(recorded.filter("a & CPUS{") == fails(EINVAL));
    CHECK(recorded.filter("a & CPUS{x}") == fails(EINVAL));
    CHECK(recorded.filter("a > CPUS{1}") == fails(EINVAL));
}

TEST_CASE("An invalid filter fails with EINVAL, and the event stays enabled") {
    Filtered recorded(" u32 a; char[8] text; __rel_loc char[] near");
    for (const char* filter :
         {"missing == 1", "a ==", "a = 1", "a", "a == \"text\"", "a ~ \"1*\"", "text == 5",
          "text > \"b\"", "text & 1", "near < \"b\"", "near == 5"}) {
        CAPTURE(filter);
        CHECK(recorded.filter(filter) == fails(EINVAL));
    }
    // For unbalanced parentheses and quotes, the errno depends on the kernel's parser.
    for (const char* filter : {"(a == 1", "a == 1)", "== 1", "a == 1 b == 2", "text == \"open"}) {
        CAPTURE(filter);
        CHECK_FALSE(recorded.filter(filter).ok());
    }
    const std::string file = recorded.instance.path(recorded.event, "filter");
    CHECK(recorded.filter("missing == 1") == fails(EINVAL));
    CHECK(read_text(file).find("parse_error: Field not found") != std::string::npos);
    REQUIRE(recorded.filter("a == 2") == succeeds());
    CHECK(read_text(file) == "a == 2\n");
    CHECK(recorded.filter("missing == 1") == fails(EINVAL));
    CHECK(recorded.word == 1);
}

TEST_CASE("A filter can be changed and removed while the event is recorded") {
    Filtered recorded(" u32 a");
    const Payload one = Payload().add(1u), two = Payload().add(2u);
    CHECK(recorded.passes("a == 1", one) == 1);
    CHECK(recorded.passes("a == 1", two) == 0);
    CHECK(recorded.passes("a == 2", two) == 1);
    CHECK(recorded.passes("a == 2", one) == 0);
    CHECK(recorded.passes("0", one) == 1);
    CHECK(recorded.passes("0", two) == 1);
    CHECK(read_text(recorded.instance.path(recorded.event, "filter")) == "none\n");
    CHECK(recorded.word == 1);
}

TEST_CASE("A filter in one instance does not affect other instances") {
    Filtered recorded(" u32 a; __rel_loc char[] text");
    Instance odd, all, none;
    for (Instance* instance : {&odd, &all, &none})
        REQUIRE(instance->enable(recorded.event) == succeeds());
    REQUIRE(recorded.filter("text == \"4\" || text == \"7\"") == succeeds());
    REQUIRE(odd.set_filter(recorded.event, "a & 1") == succeeds());
    REQUIRE(none.set_filter(recorded.event, "a > 100") == succeeds());

    for (std::uint32_t a = 0; a < 10; a++)
        CHECK(recorded.record(Payload().add(a).add(location(0, 2)).add_string(std::to_string(a))) ==
              succeeds(14));

    const auto numbers = [](Instance& instance) {
        std::vector<long long> found;
        for (const Record& record : instance.records()) {
            found.push_back(record.number("a"));
            CHECK(record.text("text") == std::to_string(record.number("a")));
        }
        return found;
    };
    CHECK(numbers(recorded.instance) == std::vector<long long>{4, 7});
    CHECK(numbers(odd) == std::vector<long long>{1, 3, 5, 7, 9});
    CHECK(numbers(all) == std::vector<long long>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(numbers(none).empty());
    for (Instance* instance : {&odd, &all, &none})
        REQUIRE(instance->disable(recorded.event) == succeeds());
}

TEST_CASE("A record that a filter rejects is not counted as lost") {
    Filtered recorded(" u32 a");
    CHECK(recorded.passes("a == 2", Payload().add(1u)) == 0);
    CHECK(status_line(recorded.event.name()) == recorded.event.name() + " # Used by ftrace");
}

TEST_CASE("A subsystem's filter applies to those of its events that have the field") {
    Filtered recorded(" u32 only_these_two");
    Word words[2] = {};
    DataFile file;
    const Event second(unique_name("filter")), other(unique_name("filter"));
    const std::uint32_t second_index =
        file.must_register(&words[0], 0, second.name() + " u32 only_these_two");
    const std::uint32_t other_index = file.must_register(&words[1], 0, other.name() + " u32 b");
    Instance& instance = recorded.instance;
    REQUIRE(instance.enable(second) == succeeds());
    REQUIRE(instance.enable(other) == succeeds());

    const std::string filter = "only_these_two == 1";
    const std::string subsystem_filter = instance.path("events/user_events/filter");
    REQUIRE(write_text(subsystem_filter, filter) == succeeds(static_cast<long>(filter.size())));
    CHECK(read_text(instance.path(recorded.event, "filter")) == filter + "\n");
    CHECK(read_text(instance.path(second, "filter")) == filter + "\n");
    for (std::uint32_t value : {1, 2}) {
        CHECK(recorded.record(Payload().add(value)) == succeeds(8));
        CHECK(file.record(second_index, Payload().add(value)) == succeeds(8));
        CHECK(file.record(other_index, Payload().add(value)) == succeeds(8));
    }
    CHECK(instance.records().size() == 4);

    REQUIRE(write_text(subsystem_filter, "0") == succeeds(1));
    CHECK(recorded.record(Payload().add(2u)) == succeeds(8));
    CHECK(file.record(second_index, Payload().add(2u)) == succeeds(8));
    CHECK(instance.records().size() == 2);
    REQUIRE(instance.disable(second) == succeeds());
    REQUIRE(instance.disable(other) == succeeds());
}

TEST_CASE("set_event accepts names with and without system, wildcards and negations") {
    Word words[2] = {};
    Instance instance;
    DataFile file;
    const std::string topic = unique_name("forms");
    const Event first(topic + "_first"), second(topic + "_second");
    REQUIRE(file.register_event(&words[0], 0, first.name()) == succeeds());
    REQUIRE(file.register_event(&words[1], 0, second.name()) == succeeds());
    const std::string set_event = instance.path("set_event");
    struct Form {
        std::string text;
        std::uint32_t first, second;
    };
    // Written one after the other. At first, no event is enabled.
    const Form forms[] = {
        {first.name(), 1, 0},
        {"user_events:" + second.name(), 1, 1},
        {"!" + first.name(), 0, 1},
        {"!user_events:" + second.name(), 0, 0},
        {"*:" + first.name(), 1, 0},
        {"!user_events:*", 0, 0},
        {"user_events:*", 1, 1},
        {"!user_events", 0, 0},
        {"user_events", 1, 1},
        {"!*:*", 0, 0},
        {"*:*", 1, 1},
        {"!*:*", 0, 0},
    };
    for (const Form& form : forms) {
        CAPTURE(form.text);
        CHECK(write_text(set_event, form.text, O_APPEND) ==
              succeeds(static_cast<long>(form.text.size())));
        CHECK(words[0] == form.first);
        CHECK(words[1] == form.second);
        const std::string listed = read_text(set_event);
        CHECK(has_line(listed, "user_events:" + first.name()) == (form.first == 1));
        CHECK(has_line(listed, "user_events:" + second.name()) == (form.second == 1));
    }
    CHECK(write_text(set_event, "user_events:" + topic, O_APPEND) == fails(EINVAL));

    // Truncating the file disables all events that are not written again.
    REQUIRE(write_text(set_event, first.name(), O_APPEND).ok());
    REQUIRE(write_text(set_event, second.name(), O_TRUNC).ok());
    CHECK(words[0] == 0);
    CHECK(words[1] == 1);
    REQUIRE(write_text(set_event, "", O_TRUNC).ok());
    CHECK(words[1] == 0);
}

TEST_CASE("A subsystem's enable file reads 0, 1, or X if only some events are enabled") {
    Word words[2] = {};
    Instance instance;
    DataFile file;
    const Event first(unique_name("some")), second(unique_name("some"));
    REQUIRE(file.register_event(&words[0], 0, first.name()) == succeeds());
    REQUIRE(file.register_event(&words[1], 0, second.name()) == succeeds());
    const std::string enable = instance.path("events/user_events/enable");
    CHECK(read_text(enable) == "0\n");
    REQUIRE(instance.enable(first) == succeeds());
    CHECK(read_text(enable) == "X\n");
    REQUIRE(write_text(enable, "1") == succeeds(1));
    CHECK(read_text(enable) == "1\n");
    CHECK(words[1] == 1);
    REQUIRE(write_text(enable, "0") == succeeds(1));
    CHECK(read_text(enable) == "0\n");
    CHECK(words[0] == 0);
}

TEST_CASE("An event's enable file reads 0 or 1, and 0* while an enable_event trigger names it") {
    Filtered recorded(" u32 a");
    Word word{0};
    DataFile file;
    const Event other(unique_name("standby"));
    REQUIRE(file.register_event(&word, 0, other.name()) == succeeds());
    const std::string enable = recorded.instance.path(other, "enable"),
                      trigger = recorded.instance.path(recorded.event, "trigger"),
                      text = "enable_event:user_events:" + other.name();
    CHECK(read_text(enable) == "0\n");
    REQUIRE(recorded.instance.enable(other) == succeeds());
    CHECK(read_text(enable) == "1\n");
    REQUIRE(recorded.instance.disable(other) == succeeds());
    REQUIRE(write_text(trigger, text).ok());
    CHECK(read_text(enable) == "0*\n");
    CHECK(word == 1);
    REQUIRE(write_text(trigger, "!" + text).ok());
    CHECK(read_text(enable) == "0\n");
    CHECK(word == 0);
    CHECK(write_text(enable, "2") == fails(EINVAL));
    CHECK(write_text(enable, "x") == fails(EINVAL));
    CHECK(word == 0);
}

TEST_CASE("set_event_pid and set_event_notrace_pid select which processes are recorded") {
    Filtered recorded(" u32 a");
    Child other([&](Channel& channel) {
        while (channel.receive<bool>())
            channel.send(recorded.record(Payload().add(2u)) == succeeds(8));
        return 0;
    });
    /// Has both processes write a record and returns the pids of the recorded ones.
    const auto pids = [&] {
        CHECK(recorded.record(Payload().add(1u)) == succeeds(8));
        other.channel().send(true);
        CHECK(other.channel().receive<bool>());
        std::vector<long long> found;
        for (const Record& record : recorded.instance.records())
            found.push_back(record.pid());
        return found;
    };
    const auto set = [&](const char* file, const std::string& text) {
        expect(write_text(recorded.instance.path(file), text, O_TRUNC), file);
    };
    const long long own_pid = gettid(), other_pid = other.pid();
    CHECK(pids() == std::vector<long long>{own_pid, other_pid});
    set("set_event_pid", std::to_string(other_pid));
    CHECK(pids() == std::vector<long long>{other_pid});
    // A program that is not recorded is not told.
    CHECK(recorded.word == 1);
    set("set_event_pid", std::to_string(own_pid));
    CHECK(pids() == std::vector<long long>{own_pid});
    set("set_event_pid", "");
    CHECK(pids() == std::vector<long long>{own_pid, other_pid});
    set("set_event_notrace_pid", std::to_string(other_pid));
    CHECK(pids() == std::vector<long long>{own_pid});
    set("set_event_notrace_pid", "");
    CHECK(pids() == std::vector<long long>{own_pid, other_pid});
    CHECK(status_line(recorded.event.name()) == recorded.event.name() + " # Used by ftrace");

    other.channel().send(false);
    CHECK(other.wait() == 0);
}

// For an empty string, the kernel's comparison searches for a NUL, even past the record. While a
// filter is set, ftrace builds each record in the same buffer as the one before.
TEST_CASE("A filter on an empty string reads nothing past its record") {
    const OnCpu on_cpu(0);
    Filtered recorded(" __rel_loc char[] s");
    const Payload before = Payload().add(location(0, 7)).add_string("stalex");
    const Payload empty = Payload().add<std::uint32_t>(0);
    const Payload at_the_start = Payload().add<std::uint32_t>(0).add_characters("stale");
    const Case cases[] = {
        {"s == \"stalex\"", false}, {"s ~ \"*x\"", false},     {"s ~ \"*lex*\"", false},
        {"s ~ \"stalex*\"", false}, {"s != \"stalex\"", true},
    };
    for (const Payload* payload : {&empty, &at_the_start})
        for (const Case& test : cases) {
            CAPTURE(test.filter, payload->size());
            CHECK(recorded.passes(test.filter, before) == (test.passes ? 0 : 1));
            CHECK(recorded.passes(test.filter, *payload) == (test.passes ? 1 : 0));
        }
}

// An event probe reads a character array up to a NUL, even past the record.
TEST_CASE("An event probe reads no character past an array that has no NUL") {
    const OnCpu on_cpu(0);
    struct Case {
        const char* fields;
        const char* field;
        Payload longer, full;
    };
    const Payload stale = Payload().add_string("AAAAstale");
    const Case cases[] = {
        {" char[4] c", "c", stale, Payload().add_characters("AAAA")},
        {" unsigned char[4] c", "c", stale, Payload().add_characters("AAAA")},
        {" char[4] b; char[4] c", "c", Payload().add_string("bbbbAAAAstale"),
         Payload().add_characters("bbbbAAAA")},
        // The kernel treats this as a character array too.
        {" struct char[] c 4", "c", stale, Payload().add_characters("AAAA")},
    };
    for (const Case& test : cases) {
        CAPTURE(test.fields);
        Filtered recorded(test.fields);
        const Event probe(unique_name("probe"), "eprobes");
        const Definition definition("dynamic_events",
                                    "e:" + probe.name() + " user_events." + recorded.event.name() +
                                        " s=$" + test.field + ":string",
                                    "-:" + probe.name());
        // While a filter is set, the probe reads each record in the same buffer too.
        REQUIRE(recorded.filter("common_pid != 0") == succeeds());
        REQUIRE(recorded.instance.enable(probe) == succeeds());
        REQUIRE(recorded.record(test.longer).ok());
        REQUIRE(recorded.record(test.full).ok());
        const auto lines = recorded.instance.trace(probe);
        CAPTURE(read_text(recorded.instance.path("trace")));
        REQUIRE(lines.size() == 2);
        CHECK(lines[1].ends_with(" s=\"AAAA\""));
        REQUIRE(recorded.instance.disable(probe) == succeeds());
    }
}
