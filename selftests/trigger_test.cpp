// SPDX-License-Identifier: GPL-2.0-only
// Triggers, histograms, synthetic events and event probes on user events.
#include "catch.hpp"
#include "registered.hpp"
#include "text_file.hpp"

#include <algorithm>
#include <optional>

using namespace selftest;

namespace {

/// A trigger of an event in an instance, for as long as the object lives. Histograms should be
/// given a small size: some kernels are slow to allocate the default of 2048 entries.
class Trigger {
public:
    Trigger(const Instance& instance, const Event& event, std::string text)
        : path_(instance.path(event, "trigger")), text_(std::move(text)) {
        expect(write_text(path_, text_, O_APPEND), "trigger " + text_);
    }
    Trigger(const Trigger&) = delete;
    Trigger& operator=(const Trigger&) = delete;
    ~Trigger() { write_text(path_, "!" + text_, O_APPEND); }

private:
    std::string path_;
    std::string text_;
};

/// The entries of an event's histogram with single spaces, sorted: `{ a: 1 } hitcount: 2`.
std::vector<std::string> histogram(const Instance& instance, const Event& event) {
    std::vector<std::string> entries;
    for (const std::string& line : lines_of(read_text(instance.path(event, "hist")))) {
        if (!line.starts_with("{"))
            continue;
        std::string entry;
        for (char character : line)
            if (character != ' ' || !entry.ends_with(' '))
                entry += character;
        entries.push_back(entry.substr(0, entry.find_last_not_of(' ') + 1));
    }
    std::ranges::sort(entries);
    return entries;
}

using Entries = std::vector<std::string>;

} // namespace

TEST_CASE("A trigger sets the bit and makes writes succeed, without recording the event") {
    Registered registered(" u32 a");
    Instance instance;
    for (const char* text :
         {"traceon", "traceoff", "snapshot", "stacktrace", "hist:size=128:keys=a",
          "traceoff:3 if a == 7", "hist:size=128:keys=a if a > 1"}) {
        CAPTURE(text);
        {
            const Trigger trigger(instance, registered.event, text);
            CHECK(registered.word == 1);
            CHECK(status_line(registered.event.name()) ==
                  registered.event.name() + " # Used by ftrace");
            CHECK(registered.record(Payload().add(1u)) == succeeds(8));
        }
        CHECK(registered.word == 0);
        CHECK(status_line(registered.event.name()) == registered.event.name());
        CHECK(registered.record(Payload().add(1u)) == fails(EBADF));
    }
    CHECK(instance.trace(registered.event).empty());
}

TEST_CASE("An invalid trigger is rejected and does not set the bit") {
    Registered registered(" u32 a");
    Instance instance;
    for (const char* text : {"nonsense", "hist:keys=missing", "traceoff if missing == 1",
                             "traceoff:x", "enable_event:user_events:missing"}) {
        CAPTURE(text);
        CHECK_FALSE(write_text(instance.path(registered.event, "trigger"), text).ok());
        CHECK(registered.word == 0);
    }
}

TEST_CASE("traceoff and traceon triggers stop and start recording in their instance") {
    Registered registered(" u32 a; __rel_loc char[] text"), starter(" u32 a");
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    const auto record = [&](std::uint32_t a, const std::string& text) {
        const auto size = static_cast<std::uint32_t>(text.size() + 1);
        CHECK(registered.record(Payload().add(a).add(location(0, size)).add_string(text)).ok());
    };
    const auto tracing = [&] { return read_text(instance.path("tracing_on")) == "1\n"; };
    {
        const Trigger off(instance, registered.event, "traceoff if text == \"off\"");
        const Trigger on(instance, starter.event, "traceon if a == 100");
        record(1, "yes");
        CHECK(tracing());
        record(2, "off");
        CHECK_FALSE(tracing());
        record(3, "no");
        CHECK(starter.record(Payload().add(99u)) == succeeds(8));
        CHECK_FALSE(tracing());
        CHECK(starter.record(Payload().add(100u)) == succeeds(8));
        CHECK(tracing());
        record(4, "yes");
    }
    record(5, "off");
    CHECK(tracing());
    std::vector<long long> numbers;
    for (const Record& record : instance.records())
        numbers.push_back(record.number("a"));
    // The condition is evaluated on the record in the buffer, so record 2 is recorded.
    CHECK(numbers == std::vector<long long>{1, 2, 4, 5});
    // Record 3, written while the instance was stopped, does not count as lost.
    CHECK(status_line(registered.event.name()) == registered.event.name() + " # Used by ftrace");
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("A trigger with a count runs that many times") {
    Registered registered(" u32 a");
    Instance instance;
    const Trigger off(instance, registered.event, "traceoff:2");
    const std::string on = instance.path("tracing_on");
    for (bool stops : {true, true, false, false}) {
        REQUIRE(write_text(on, "1") == succeeds(1));
        CHECK(registered.record(Payload().add(1u)) == succeeds(8));
        CHECK(read_text(on) == (stops ? "0\n" : "1\n"));
    }
}

TEST_CASE("A snapshot trigger moves the existing records to the snapshot buffer") {
    Registered registered(" u32 a");
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    {
        const Trigger trigger(instance, registered.event, "snapshot if a == 3");
        for (std::uint32_t a : {1, 2, 3, 4})
            CHECK(registered.record(Payload().add(a)) == succeeds(8));
    }
    const auto has = [&](const char* file, const char* number) {
        return read_text(instance.path(file)).find(registered.event.name() + ": a=" + number) !=
               std::string::npos;
    };
    for (const char* before : {"1", "2"}) {
        CHECK(has("snapshot", before));
        CHECK_FALSE(has("trace", before));
    }
    CHECK_FALSE(has("snapshot", "4"));
    CHECK(has("trace", "4"));
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("A stacktrace trigger records the stack of the write if its condition is true") {
    Registered registered(" u32 a");
    Instance instance;
    const Trigger trigger(instance, registered.event, "stacktrace if a == 2");
    CHECK(registered.record(Payload().add(1u)) == succeeds(8));
    CHECK(read_text(instance.path("trace")).find("<stack trace>") == std::string::npos);
    CHECK(registered.record(Payload().add(2u)) == succeeds(8));
    const std::string trace = read_text(instance.path("trace"));
    CHECK(trace.find("<stack trace>") != std::string::npos);
    CHECK(trace.find(" => vfs_write") != std::string::npos);
}

TEST_CASE("enable_event and disable_event triggers switch another user event") {
    Registered starter(" u32 a", "starts"), stopper(" u32 a", "stops"), other(" u32 b", "switched");
    Instance instance;
    const auto recorded = [&] { return instance.records().size(); };
    {
        const Trigger on(instance, starter.event,
                         "enable_event:" + other.full_name() + " if a == 1");
        // The trigger enables the other event in soft-disabled mode, which sets its bit.
        CHECK(starter.word == 1);
        CHECK(other.word == 1);
        CHECK(other.record(Payload().add(1u)) == succeeds(8));
        CHECK(starter.record(Payload().add(2u)) == succeeds(8));
        CHECK(other.record(Payload().add(1u)) == succeeds(8));
        CHECK(recorded() == 0);
        CHECK(starter.record(Payload().add(1u)) == succeeds(8));
        CHECK(other.record(Payload().add(2u)) == succeeds(8));
        const auto records = instance.records();
        REQUIRE(records.size() == 1);
        CHECK(records[0].event() == other.event.name());
        CHECK(records[0].number("b") == 2);
    }
    CHECK(starter.word == 0);
    // Removing the trigger leaves the other event enabled.
    CHECK(other.word == 1);
    REQUIRE(instance.disable(other.event) == succeeds());
    CHECK(other.word == 0);
    REQUIRE(instance.enable(other.event) == succeeds());
    {
        const Trigger off(instance, stopper.event, "disable_event:" + other.full_name() + ":1");
        CHECK(stopper.word == 1);
        CHECK(other.record(Payload().add(3u)) == succeeds(8));
        CHECK(recorded() == 1);
        CHECK(stopper.record(Payload().add(1u)) == succeeds(8));
        CHECK(other.record(Payload().add(4u)) == succeeds(8));
        CHECK(recorded() == 0);
    }
    CHECK(stopper.word == 0);
    REQUIRE(instance.disable(other.event) == succeeds());
    CHECK(other.word == 0);
}

TEST_CASE("A hist trigger counts and sums by integer keys") {
    Registered registered(" s32 key; u64 amount; u8 small");
    Instance instance;
    const auto record = [&](std::int32_t key, std::uint64_t amount, std::uint8_t small) {
        CHECK(registered.record(Payload().add(key).add(amount).add(small)) == succeeds(17));
    };
    SECTION("one key, two sums") {
        const Trigger trigger(instance, registered.event,
                              "hist:size=128:keys=key:vals=amount,small");
        record(1, 5000000000, 200);
        record(2, 7, 1);
        record(1, 1, 100);
        CHECK(histogram(instance, registered.event) ==
              Entries{"{ key: 1 } hitcount: 2 amount: 5000000001 small: 300",
                      "{ key: 2 } hitcount: 1 amount: 7 small: 1"});
    }
    SECTION("two keys") {
        const Trigger trigger(instance, registered.event, "hist:size=128:keys=key,small");
        record(1, 0, 1);
        record(1, 0, 2);
        record(1, 0, 2);
        CHECK(histogram(instance, registered.event) ==
              Entries{"{ key: 1, small: 1 } hitcount: 1", "{ key: 1, small: 2 } hitcount: 2"});
    }
    SECTION("condition") {
        const Trigger trigger(instance, registered.event, "hist:size=128:keys=key if small > 100");
        record(1, 0, 200);
        record(1, 0, 100);
        record(2, 0, 100);
        CHECK(histogram(instance, registered.event) == Entries{"{ key: 1 } hitcount: 1"});
    }
    SECTION("hexadecimal key") {
        const Trigger trigger(instance, registered.event, "hist:size=128:keys=amount.hex");
        record(0, 0xabcdef0123, 0);
        CHECK(histogram(instance, registered.event) ==
              Entries{"{ amount: abcdef0123 } hitcount: 1"});
    }
}

TEST_CASE("A hist trigger counts by string keys") {
    Registered registered(" char[8] array; __rel_loc char[] near; __data_loc char[] far");
    Instance instance;
    const char* field = GENERATE("array", "near", "far");
    const std::string key = field;
    CAPTURE(key);
    const Trigger trigger(instance, registered.event,
                          "hist:size=128:keys=" + key + " if " + key + " != \"left out\"");
    const auto record = [&](const std::string& text) {
        const auto size = static_cast<std::uint32_t>(text.size() + 1);
        const std::string array = (text + std::string(8, '\0')).substr(0, 8);
        CHECK(registered
                  .record(Payload()
                              .add_characters(array)
                              .add(location(4, size))
                              .add(location(24 + size, size))
                              .add_string(text)
                              .add_string(text))
                  .ok());
    };
    for (const char* text : {"alpha", "beta", "alpha", "g", "alpha", "beta"})
        record(text);
    if (key != "array")
        record("left out");
    CHECK(histogram(instance, registered.event) == Entries{"{ " + key + ": alpha } hitcount: 3",
                                                           "{ " + key + ": beta } hitcount: 2",
                                                           "{ " + key + ": g } hitcount: 1"});
}

TEST_CASE("Fields named cpu, comm and stacktrace take precedence in histograms, but for one key") {
    Registered registered(" u32 cpu; char[16] comm; u32 stacktrace");
    Instance instance;
    const auto counted = [&](const std::string& fields) {
        const Trigger trigger(instance, registered.event, "hist:size=128:keys=" + fields);
        const Payload payload =
            Payload().add(4095u).add_characters({"not the task\0\0\0\0", 16}).add(7u);
        CHECK(registered.record(payload) == succeeds(28));
        return histogram(instance, registered.event);
    };
    CHECK(counted("cpu") == Entries{"{ cpu: 4095 } hitcount: 1"});
    CHECK(counted("comm") == Entries{"{ comm: not the task } hitcount: 1"});
    CHECK(counted("cpu:vals=stacktrace") == Entries{"{ cpu: 4095 } hitcount: 1 stacktrace: 7"});
    const Entries by_stack = counted("stacktrace");
    REQUIRE(by_stack.size() == 1);
    // The lines of the stack follow.
    CHECK(by_stack[0].ends_with("stacktrace:"));
}

TEST_CASE("A hist trigger counts by stack traces") {
    Registered registered("");
    Instance instance;
    const Trigger trigger(instance, registered.event, "hist:size=128:keys=stacktrace");
    for (int i = 0; i < 3; i++)
        CHECK(registered.record() == succeeds(4));
    const std::string hist = read_text(instance.path(registered.event, "hist"));
    CHECK(hist.find("vfs_write") != std::string::npos);
    CHECK(hist.find("Hits: 3") != std::string::npos);
}

TEST_CASE("Without a trigger, the hist file is empty; the id file holds the records' type number") {
    Registered registered(" u32 a");
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    CHECK(read_text(instance.path(registered.event, "hist")).empty());
    CHECK(registered.record(Payload().add(1u)) == succeeds(8));
    const auto records = instance.records();
    REQUIRE(records.size() == 1);
    CHECK(records[0].number("common_type") == registered.event.id());
    CHECK(read_text(instance.path(registered.event, "id")) ==
          std::to_string(registered.event.id()) + "\n");
    CHECK(registered.event.format().find("ID: " + std::to_string(registered.event.id()) + "\n") !=
          std::string::npos);
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("A synthetic event is generated from two user events with the same key") {
    Registered start(" u32 id; __rel_loc char[] name", "start"), end(" u32 id; u32 result", "end");
    Instance instance;
    const std::string latency = unique_name("latency");
    const Definition definition(
        "synthetic_events", latency + " u64 took; u32 id; u32 result; char[] name", "!" + latency);
    const Event synthetic(latency, "synthetic");
    {
        const Trigger first(instance, start.event,
                            "hist:size=128:keys=id:ts0=common_timestamp.usecs:text=name");
        const Trigger second(instance, end.event,
                             "hist:size=128:keys=id:took=common_timestamp.usecs-$ts0:onmatch(" +
                                 start.event.system() + "." + start.event.name() + ")." + latency +
                                 "($took,id,result,$text)");
        CHECK(start.word == 1);
        CHECK(end.word == 1);
        REQUIRE(instance.enable(synthetic) == succeeds());
        const auto record_start = [&](std::uint32_t id, const std::string& name) {
            const auto size = static_cast<std::uint32_t>(name.size() + 1);
            CHECK(start.record(Payload().add(id).add(location(0, size)).add_string(name)).ok());
        };
        record_start(1, "one");
        record_start(2, "two");
        CHECK(end.record(Payload().add(2u).add(20u)) == succeeds(12));
        CHECK(end.record(Payload().add(3u).add(30u)) == succeeds(12));
        CHECK(end.record(Payload().add(1u).add(10u)) == succeeds(12));
        const auto lines = instance.trace(synthetic);
        REQUIRE(lines.size() == 2);
        CAPTURE(lines[0]);
        CHECK(lines[0].ends_with(" id=2 result=20 name=two"));
        CHECK(lines[1].ends_with(" id=1 result=10 name=one"));
        REQUIRE(instance.disable(synthetic) == succeeds());
    }
    CHECK(start.word == 0);
    CHECK(end.word == 0);
}

TEST_CASE("onmax().save() keeps the fields of the record with the largest value") {
    Registered registered(" u32 group; u32 value; u32 number");
    Instance instance;
    const Trigger trigger(instance, registered.event,
                          "hist:size=128:keys=group:v=value:onmax($v).save(number)");
    const std::uint32_t values[] = {5, 50, 7, 49};
    for (std::uint32_t number = 0; number < 4; number++)
        CHECK(registered.record(Payload().add(1u).add(values[number]).add(number)) == succeeds(16));
    std::string squeezed;
    for (char character : read_text(instance.path(registered.event, "hist")))
        if (!isspace(static_cast<unsigned char>(character)))
            squeezed += character;
    CHECK(squeezed.find("max:50number:1") != std::string::npos);
}

TEST_CASE("onmax and onchange take snapshots, and onchange generates synthetic events") {
    Registered registered(" u32 group; s64 value; u32 number");
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    const auto record = [&](std::int64_t value, std::uint32_t number) {
        CHECK(registered.record(Payload().add(1u).add(value).add(number)) == succeeds(20));
    };
    const auto snapshot_has = [&](std::uint32_t number) {
        return read_text(instance.path("snapshot")).find(" number=" + std::to_string(number)) !=
               std::string::npos;
    };
    SECTION("onmax().snapshot()") {
        const Trigger trigger(instance, registered.event,
                              "hist:size=128:keys=group:v=value:onmax($v).snapshot()");
        record(5, 101);
        record(5000000000, 102);
        CHECK(snapshot_has(102));
        record(4999999999, 103);
        record(7, 104);
        CHECK_FALSE(snapshot_has(103));
        record(5000000001, 105);
        CHECK(snapshot_has(105));
    }
    SECTION("onchange().snapshot()") {
        const Trigger trigger(instance, registered.event,
                              "hist:size=128:keys=group:v=value:onchange($v).snapshot()");
        record(5, 101);
        record(6, 102);
        CHECK(snapshot_has(102));
        record(6, 103);
        record(6, 104);
        CHECK_FALSE(snapshot_has(104));
        record(5, 105);
        CHECK(snapshot_has(105));
    }
    SECTION("onchange() with a synthetic event") {
        const std::string changed = unique_name("changed");
        const Definition definition("synthetic_events", changed + " s64 value; u32 number",
                                    "!" + changed);
        const Event synthetic(changed, "synthetic");
        {
            const Trigger trigger(instance, registered.event,
                                  "hist:size=128:keys=group:v=value:onchange($v)." + changed +
                                      "($v,number)");
            REQUIRE(instance.enable(synthetic) == succeeds());
            record(1, 101);
            record(-5, 102);
            record(-5, 103);
            record(6, 104);
            const auto lines = instance.trace(synthetic);
            REQUIRE(lines.size() >= 2);
            CHECK(lines[lines.size() - 2].ends_with(" value=-5 number=102"));
            CHECK(lines.back().ends_with(" value=6 number=104"));
            REQUIRE(instance.disable(synthetic) == succeeds());
        }
    }
    REQUIRE(instance.disable(registered.event) == succeeds());
    CHECK(registered.word == 0);
}

TEST_CASE("enable_hist and disable_hist triggers switch another user event's histogram") {
    Registered starter(" u32 a", "starts"), stopper(" u32 a", "stops"), counted(" u32 b", "counts");
    Instance instance;
    const auto count = [&] {
        CHECK(counted.record(Payload().add(1u)) == succeeds(8));
        const Entries entries = histogram(instance, counted.event);
        return entries.empty() ? "" : entries.at(0);
    };
    const Trigger hist(instance, counted.event, "hist:size=128:keys=b:pause");
    const Trigger on(instance, starter.event, "enable_hist:" + counted.full_name() + " if a == 1");
    const Trigger off(instance, stopper.event, "disable_hist:" + counted.full_name() + ":1");
    for (const Registered* event : {&starter, &stopper, &counted})
        CHECK(event->word == 1);
    CHECK(count() == "");
    CHECK(starter.record(Payload().add(2u)) == succeeds(8));
    CHECK(count() == "");
    CHECK(starter.record(Payload().add(1u)) == succeeds(8));
    CHECK(count() == "{ b: 1 } hitcount: 1");
    CHECK(count() == "{ b: 1 } hitcount: 2");
    CHECK(stopper.record(Payload().add(1u)) == succeeds(8));
    CHECK(count() == "{ b: 1 } hitcount: 2");
    // disable_hist had a count of 1 and does not run again.
    CHECK(starter.record(Payload().add(1u)) == succeeds(8));
    CHECK(stopper.record(Payload().add(1u)) == succeeds(8));
    CHECK(count() == "{ b: 1 } hitcount: 3");
}

TEST_CASE("The trigger file lists all triggers, and each can be removed") {
    Registered registered(" u32 a; u32 b");
    Instance instance;
    const std::string file = instance.path(registered.event, "trigger");
    CHECK(read_text(file).find(registered.event.name()) == std::string::npos);
    {
        const Trigger off(instance, registered.event, "traceoff:5 if a == 1");
        const Trigger stack(instance, registered.event, "stacktrace:2");
        const Trigger hist(instance, registered.event, "hist:keys=b if a == 2");
        const std::string listed = read_text(file);
        CAPTURE(listed);
        CHECK(has_line(listed, "traceoff:count=5 if a == 1"));
        CHECK(has_line(listed, "stacktrace:count=2"));
        CHECK(listed.find("hist:keys=b:vals=hitcount:sort=hitcount:size=2048 if a == 2 [active]") !=
              std::string::npos);
        CHECK(registered.word == 1);
    }
    CHECK(read_text(file).find("a == 1") == std::string::npos);
    CHECK(registered.word == 0);
}

// Without the __rel_loc field: event probes of 6.1 and 6.12 compute its offset from the start of
// the location instead of from its end.
TEST_CASE("An event probe on a user event sets the bit and reads the fields") {
    Registered registered(" u32 a; s16 b; char[8] array; __rel_loc char[] near;"
                          " __data_loc char[] far; u64 c");
    Instance instance;
    const std::string name = unique_name("probe");
    const Definition definition(
        "dynamic_events",
        "e:selftests/" + name + " user_events." + registered.event.name() +
            " a=$a:u32 b=$b:s16 array=$array:string far=$far:string c=$c:x64",
        "-:selftests/" + name);
    const Event probe(name, "selftests");
    CHECK(registered.word == 0);
    REQUIRE(instance.enable(probe) == succeeds());
    CHECK(registered.word == 1);
    CHECK(status_line(registered.event.name()) == registered.event.name() + " # Used by ftrace");
    // Offsets in the payload: locations 14 and 18, strings 30 and 35 (38 and 43 in the record).
    CHECK(registered.record(Payload()
                                .add(4000000000u)
                                .add<std::int16_t>(-5)
                                .add_characters({"array\0\0\0", 8})
                                .add(location(12, 5))
                                .add(location(43, 4))
                                .add<std::uint64_t>(0xfeedfacecafe)
                                .add_string("near")
                                .add_string("far")) == succeeds(4 + 39));
    const auto lines = instance.trace(probe);
    REQUIRE(lines.size() == 1);
    CAPTURE(lines[0]);
    CHECK(lines[0].ends_with(" a=4000000000 b=-5 array=\"array\" far=\"far\""
                             " c=0xfeedfacecafe"));
    REQUIRE(instance.disable(probe) == succeeds());
    CHECK(registered.word == 0);
}

// The kernel counts the references to an event, but does not notify the module of the last put.
TEST_CASE("An event probe keeps its event until the probe is removed") {
    std::optional<Registered> registered(std::in_place, " u32 a");
    const std::string event = registered->event.name(), name = unique_name("probe");
    {
        const Definition definition("dynamic_events",
                                    "e:selftests/" + name + " user_events." + event + " a=$a:u32",
                                    "-:selftests/" + name);
        registered.reset();
        CHECK(status_line(event) == event);
    }
    CHECK(Event(event).wait_removed());
}
