// SPDX-License-Identifier: GPL-2.0-only
// While a program writes beyond the limit of a rule, its enable bit is 0.
#include "catch.hpp"
#include "deadline.hpp"
#include "limited.hpp"
#include "mapping.hpp"
#include "perf.hpp"
#include "program.hpp"
#include "registered.hpp"
#include "rule.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <list>
#include <optional>
#include <sys/mman.h>
#include <thread>
#include <vector>

using namespace selftest;

namespace {

using Clock = std::chrono::steady_clock;

/// Writes until the bit becomes 0, which is tried only now and then, and fails while other threads
/// change the memory. With a limit of 1/s the bit stays 0 for about a second.
bool is_muted_by_flood(Program& program) {
    CHECK(program.ask(Request::flood) == 0);
    return eventually(
        [&] { return program.bit() == 0 || (program.ask(Request::record), program.bit() == 0); });
}

/// Whether the bit stays 0 while something is done. It may take so long that there is a token.
bool stays_muted(Program& program, const std::function<void()>& action) {
    return eventually([&] {
        CHECK(is_muted_by_flood(program));
        action();
        return program.bit() == 0;
    });
}

/// Writes for as long as it takes to try several times to clear the bit.
int flood_for_long(Program& program) {
    int written = 0;
    for (const auto end = Clock::now() + std::chrono::milliseconds(50); Clock::now() < end;
         written += flood_size)
        CHECK(program.ask(Request::flood) == 0);
    return written;
}

/// The same of the test itself.
void flood_for_long(Registered& registered) {
    bool succeeded = true;
    for (const auto end = Clock::now() + std::chrono::milliseconds(50); Clock::now() < end;)
        succeeded &= registered.record().ok();
    CHECK(succeeded);
}

bool gets_bit(Program& program) {
    return eventually([&] { return program.bit() == 1; });
}

} // namespace

TEST_CASE("The bit of a program that floods is 0, and 1 again when there is a token") {
    Kept kept;
    Instance instance;
    Program flooding(kept.event), quiet(kept.event);
    const Rule rule(rule_text(kept.event, instance, GENERATE("limit=1/s", "limit=1/s/program")));
    CHECK(flooding.bit() == 1);
    CHECK(is_muted_by_flood(flooding));
    CHECK(quiet.bit() == 1);
    // A write without a look at the bit succeeds, and does not set the bit.
    CHECK(stays_muted(flooding, [&] { CHECK(flooding.ask(Request::record) == 0); }));
    CHECK(gets_bit(flooding));
    const std::string status = kept.status();
    const auto off = status.find("; off ");
    REQUIRE(off != std::string::npos);
    CHECK(std::strtoul(&status[off + 6], nullptr, 10) >= 10);
    instance.records();
    CHECK(flooding.ask(Request::record) == 0);
    CHECK(instance.records().size() == 1);
}

TEST_CASE("A program that looks at its bit makes nearly no system call beyond its limit") {
    Kept kept;
    Instance instance;
    Program program(kept.event);
    const Rule rule(rule_text(kept.event, instance, "limit=100/s/program"));
    // An emulated CPU that stands still for 100 ms with the mutex held lets no bit be cleared.
    CHECK(eventually([&] {
        CHECK(gets_bit(program));
        const auto before = suppressed(rule.comment());
        const auto written = static_cast<unsigned long>(program.ask(Request::flood_politely));
        const auto made = instance.records().size();
        const auto beyond = suppressed(rule.comment()) - before;
        CHECK(made > 1);
        CHECK(made + beyond == written);
        return beyond < made;
    }));
    CHECK(gets_bit(program));
}

TEST_CASE("While a program goes on to flood, its bit is 0 for longer each time, up to a second",
          "[long]") {
    Kept kept;
    Instance instance;
    Registered registered("");
    // At this rate there is always a token when the time is over.
    const Rule rule(rule_text(registered.event, instance, "limit=100/s"));
    std::vector<double> times;
    const std::chrono::duration<double> whole(6), longest(1);
    const auto begin = Clock::now();
    while (Clock::now() - begin < whole) {
        while (registered.word == 1)
            registered.record();
        const auto off = Clock::now();
        while (registered.word == 0)
            std::this_thread::yield();
        times.push_back(std::chrono::duration<double>(Clock::now() - off).count());
    }
    CAPTURE(times);
    REQUIRE(times.size() >= 4);
    // A second, when the time of 10 ms has been doubled seven times. The machine may be late.
    CHECK(times.size() < 30);
    // On a slow machine, each may look longer than it is.
    CHECK(std::ranges::min(times) < longest.count() / 2);
    CHECK(times.back() > longest.count() * 0.8);
}

TEST_CASE("The bit stays 1 as long as something records the program without a limit", "[long]") {
    Kept kept;
    Instance instance, other;
    Program program(kept.event);
    std::optional<Rule> unlimited;
    std::optional<PerfEvent> perf;
    const std::string kind = GENERATE("instance", "perf of all", "perf of the program", "rule",
                                      "rule for the program", "limit", "sample");
    CAPTURE(kind);
    perf_event_attr of_threads = perf_attributes(kept.event);
    of_threads.inherit = 1;
    const auto begin = [&] {
        const std::string pid = "pid=" + std::to_string(program.pid());
        if (kind == "instance")
            REQUIRE(other.enable(kept.event) == succeeds());
        else if (kind == "perf of all")
            perf.emplace(perf_attributes(kept.event), -1, 0);
        else if (kind == "perf of the program")
            perf.emplace(of_threads, program.pid());
        else
            unlimited.emplace(rule_text(kept.event, other,
                                        kind == "rule"     ? ""
                                        : kind == "limit"  ? "limit=1000000000/s/program"
                                        : kind == "sample" ? "sample=1/2"
                                                           : pid));
    };
    const bool before = GENERATE(true, false);
    CAPTURE(before);
    if (before)
        begin();
    const Rule rule(rule_text(kept.event, instance, "limit=1/s/program"));
    if (!before) {
        CHECK(is_muted_by_flood(program));
        begin();
        CHECK(program.bit() == 1);
    }
    const auto written = static_cast<std::size_t>(flood_for_long(program));
    CHECK(program.bit() == 1);
    if (kind == "perf of the program")
        CHECK(perf->count() == written);
    else if (!perf && kind != "sample")
        CHECK(other.records().size() == written);
    // When it ends, the limit counts.
    unlimited.reset();
    perf.reset();
    other.disable(kept.event);
    CHECK(is_muted_by_flood(program));
}

TEST_CASE("Other limits let the bit be 0 if they are exceeded, too") {
    Kept kept;
    Instance first, second, third;
    Program program(kept.event);
    const Rule one(rule_text(kept.event, first, "limit=1/s"));
    const Rule two(rule_text(kept.event, second, "limit=1/s/program"));
    const Rule of_other(rule_text(kept.event, third, "pid=1"));
    CHECK(is_muted_by_flood(program));
    CHECK(gets_bit(program));
}

TEST_CASE("Registrations, updates, forks and exec keep a bit 0 or have the right one", "[long]") {
    Kept kept;
    Instance instance;
    Program program(kept.event);
    std::optional<Rule> rule(rule_text(kept.event, instance, "limit=1/s/program"));
    CHECK(is_muted_by_flood(program));
    SECTION("a child is not the program that floods") {
        CHECK(program.ask(Request::fork) == 1);
        REQUIRE(program.ask(Request::pass_on) == 0);
        CHECK(program.bit() == 1);
        CHECK(is_muted_by_flood(program));
    }
    SECTION("a bit that is registered anew") {
        CHECK(stays_muted(program, [&] {
            CHECK(program.ask(Request::remove) == 0);
            CHECK(program.bit() == 0);
            CHECK(program.ask(Request::add) == 0);
        }));
    }
    SECTION("a bit that is registered when the flood is over") {
        CHECK(program.ask(Request::remove) == 0);
        std::this_thread::sleep_for(std::chrono::seconds(2));
        CHECK(program.ask(Request::add) == 0);
        CHECK(program.bit() == 1);
    }
    SECTION("another event of the program") {
        Instance other;
        const Event second(unique_name("second"));
        const Rule of_second(rule_text(second, other, ""));
        Registered registered("");
        CHECK(stays_muted(program, [&] {
            CHECK(other.enable(registered.event) == succeeds());
            CHECK(other.disable(registered.event) == succeeds());
        }));
    }
    SECTION("exec") {
        program.execute();
        REQUIRE(program.ask(Request::add) == 0);
        CHECK(program.bit() == 1);
    }
    SECTION("the rule is removed") {
        rule.reset();
        CHECK(program.bit() == 0);
        CHECK(program.ask(Request::record) == EBADF);
        REQUIRE(instance.enable(kept.event) == succeeds());
        CHECK(program.bit() == 1);
        REQUIRE(instance.disable(kept.event) == succeeds());
        CHECK(program.bit() == 0);
        return;
    }
    SECTION("the program exits") {
        program.end();
        CHECK(suppressed(rule->comment()) > 0);
        return;
    }
    CHECK(gets_bit(program));
}

TEST_CASE("A rule without a limit that takes the event over sets the bit") {
    Kept kept;
    Instance instance;
    Program program(kept.event);
    std::optional<Rule> rule(rule_text(kept.event, instance, "limit=1/s"));
    const Rule next(rule_text(kept.event, instance, ""));
    CHECK(is_muted_by_flood(program));
    rule.reset();
    CHECK(program.bit() == 1);
    instance.records();
    const auto written = static_cast<std::size_t>(flood_for_long(program));
    CHECK(program.bit() == 1);
    CHECK(instance.records().size() == written);
}

TEST_CASE("The bit of a program that floods becomes 0 though a fork shares its page") {
    Kept kept;
    Instance instance;
    Program program(kept.event);
    const Rule rule(rule_text(kept.event, instance, "limit=1/s/program"));
    // The program itself never copies the page.
    CHECK(eventually(
        [&] {
            program.ask(Request::fork);
            program.ask(Request::record);
            return program.bit() == 0;
        },
        std::chrono::seconds(20)));
    CHECK(gets_bit(program));
}

TEST_CASE("A bit that cannot be written when there is a token again is written later") {
    Kept kept;
    Instance instance;
    DataFile file;
    Mapping first(1), second(1);
    Mapping &low = first.at() < second.at() ? first : second,
            &high = &low == &first ? second : first;
    const auto index = file.must_register(low.at(), 0, kept.event.name());
    file.must_register(high.at(), 0, kept.event.name());
    const Word &protected_bit = *low.at<Word>(), &other_bit = *high.at<Word>();
    const Rule rule(rule_text(kept.event, instance, "limit=1/s/program"));
    REQUIRE(eventually([&] {
        file.record(index);
        return protected_bit == 0 && other_bit == 0;
    }));
    low.protect(PROT_READ);
    // The program writes this one, after it has tried the other one in vain.
    REQUIRE(madvise(high.at(), page_size, MADV_DONTNEED) == 0);
    CHECK(eventually([&] { return other_bit == 1; }));
    CHECK(protected_bit == 0);
    low.protect(PROT_READ | PROT_WRITE);
    CHECK(eventually([&] { return protected_bit == 1; }, std::chrono::seconds(20)));
}

TEST_CASE("Memory that programs share keeps the bit 1") {
    Kept kept;
    Instance instance;
    const Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    Program flooding(kept.event, true, memory.at()), quiet(kept.event, true, memory.at());
    const Rule rule(rule_text(kept.event, instance, "limit=1/s/program"));
    flood_for_long(flooding);
    CHECK(quiet.bit() == 1);
    CHECK(quiet.ask(Request::record) == 0);
    CHECK(instance.records().size() >= 2);
}

TEST_CASE("A program with more than 128 registrations keeps its bits") {
    Registered registered("");
    Instance instance;
    std::array<Word, 128 / 32> words{};
    for (unsigned bit = 1; bit < 128; bit++)
        registered.file.must_register(&words[bit / 32], bit % 32, registered.event.name());
    const Rule rule(rule_text(registered.event, instance, "limit=1/s"));
    CHECK(eventually([&] { return flood_for_long(registered), registered.word == 0; }));
    CHECK(std::ranges::all_of(words, [](const Word& word) { return word == 0; }));
    registered.file.must_register(words.data(), 0, registered.event.name());
    CHECK(eventually([&] { return registered.word == 1; }));
    flood_for_long(registered);
    CHECK(registered.word == 1);
}

TEST_CASE("While a program floods with 64 events, the bits of others stay 1") {
    std::list<Registered> events;
    while (events.size() < 65)
        events.emplace_back("", "many");
    Instance instance;
    std::list<Rule> rules;
    for (const Registered& registered : events)
        rules.emplace_back(rule_text(registered.event, instance, "limit=1/s"));
    Registered& last = events.back();
    // The machine may be so slow that the first of the events is forgotten before the last is
    // tried.
    bool succeeded = true;
    CHECK(eventually([&] {
        std::for_each(events.begin(), std::prev(events.end()), [&](Registered& registered) {
            succeeded &= eventually([&] { return registered.record(), registered.word == 0; });
        });
        flood_for_long(last);
        return last.word == 1;
    }));
    CHECK(succeeded);
}
