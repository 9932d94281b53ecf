// SPDX-License-Identifier: GPL-2.0-only
// Enable bits are set in all kinds of memory while a recorder has the event enabled.
#include "catch.hpp"
#include "child.hpp"
#include "deadline.hpp"
#include "mapping.hpp"
#include "perf.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <array>
#include <functional>
#include <memory>
#include <sys/mman.h>
#include <thread>

using namespace selftest;

namespace {

/// A memfd of one page, for shared and private mappings.
Descriptor one_page_memfd() {
    Descriptor file(memfd_create("selftest", MFD_CLOEXEC));
    if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(page_size)) != 0)
        throw_errno("memfd_create");
    return file;
}

/// A method to enable and disable an event by writing to a tracefs file.
struct Method {
    const char* name;
    std::string file;
    std::string on, off;
    bool appends = false;
};

std::vector<Method> methods_for(const Event& event, const Instance& instance) {
    const std::string full_name = event.system() + ":" + event.name();
    const std::string directory = "events/" + event.system() + "/";
    return {
        {"the event's enable", event.path("enable"), "1", "0"},
        {"the subsystem's enable", tracing_file(directory + "enable"), "1", "0"},
        {"set_event", tracing_file("set_event"), full_name, "!" + full_name, true},
        {"an instance's enable", instance.path(directory + event.name() + "/enable"), "1", "0"},
        {"an instance's subsystem", instance.path(directory + "enable"), "1", "0"},
        {"an instance's set_event", instance.path("set_event"), full_name, "!" + full_name, true},
        {"a traceon trigger", event.path("trigger"), "traceon", "!traceon"},
        {"a stacktrace trigger", event.path("trigger"), "stacktrace", "!stacktrace"},
        {"a hist trigger", event.path("trigger"), "hist:keys=a", "!hist:keys=a"},
        {"an instance's trigger", instance.path(directory + event.name() + "/trigger"), "traceoff",
         "!traceoff"},
    };
}

void apply(const Method& method, bool on) {
    const std::string& text = on ? method.on : method.off;
    expect(write_text(method.file, text, method.appends ? O_APPEND : 0),
           text + " > " + method.file);
}

} // namespace

TEST_CASE("Each way to enable an event in tracefs sets its bit, and disabling clears it",
          "[race][slow]") {
    Word word{0};
    Instance instance;
    DataFile file;
    const Event event(unique_name("methods"));
    REQUIRE(file.register_event(&word, 9, event.name() + " u32 a") == succeeds());
    for (const Method& method : methods_for(event, instance)) {
        CAPTURE(method.name);
        for (int round = 0; round < 3; round++) {
            apply(method, true);
            CHECK(word == 1u << 9);
            apply(method, false);
            CHECK(word == 0);
        }
    }
}

TEST_CASE("The bit stays set until the last recorder disables the event") {
    Word word{0};
    Instance instance;
    DataFile file;
    const Event event(unique_name("several"));
    REQUIRE(file.register_event(&word, 0, event.name() + " u32 a") == succeeds());
    const auto methods = methods_for(event, instance);
    const Method &top_level = methods[0], &in_instance = methods[3], &trigger = methods[6];

    apply(top_level, true);
    CHECK(word == 1);
    apply(in_instance, true);
    apply(top_level, false);
    CHECK(word == 1);
    apply(trigger, true);
    apply(in_instance, false);
    CHECK(word == 1);
    apply(trigger, false);
    CHECK(word == 0);
}

TEST_CASE("Removing the only instance that has the event enabled clears the bit") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("removed"));
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    {
        Instance instance;
        REQUIRE(instance.enable(event) == succeeds());
        CHECK(word == 1);
    }
    CHECK(word == 0);
}

TEST_CASE("Every bit of a word of 4 or 8 bytes can be registered", "[long]") {
    alignas(8) LongWord word{0};
    const unsigned size = GENERATE(4u, 8u);
    CAPTURE(size);
    DataFile file;
    const unsigned bits = size * 8;
    SECTION("all bits for one event") {
        const Event event(unique_name("each_bit"));
        for (unsigned bit = 0; bit < bits; bit++)
            REQUIRE(file.register_event(&word, bit, event.name(), size) == succeeds());
        {
            Enabled enabled{event};
            CHECK(word == (size == 8 ? ~0ull : 0xffffffffull));
        }
        CHECK(word == 0);
    }
    SECTION("each bit for a different event") {
        std::vector<Event> events;
        for (unsigned bit = 0; bit < bits; bit++) {
            events.emplace_back(unique_name("each_bit"));
            REQUIRE(file.register_event(&word, bit, events[bit].name(), size) == succeeds());
        }
        for (unsigned bit = 0; bit < bits; bit++) {
            CAPTURE(bit);
            Enabled enabled{events[bit]};
            CHECK(word == 1ull << bit);
        }
        CHECK(word == 0);
        Enabled third{events[3]}, last{events[bits - 1]};
        CHECK(word == (1ull << 3 | 1ull << (bits - 1)));
    }
}

TEST_CASE("An update changes no other bit in the word or in adjacent words") {
    alignas(8) Word words[4];
    DataFile file;
    const Event event(unique_name("other_bits"));
    const std::uint32_t pattern = GENERATE(0u, 0xffffffffu, 0xa5a5a5a5u);
    CAPTURE(pattern);
    for (Word& word : words)
        word = pattern;
    REQUIRE(file.register_event(&words[1], 13, event.name(), 4) == succeeds());
    REQUIRE(file.register_event(&words[2], 40, event.name(), 8) == succeeds());
    const std::uint32_t bit_13 = 1u << 13, bit_8 = 1u << 8;
    {
        Enabled enabled{event};
        CHECK(words[1] == (pattern | bit_13));
        CHECK(words[2] == pattern);
        CHECK(words[3] == (pattern | bit_8));
    }
    CHECK(words[0] == pattern);
    CHECK(words[1] == (pattern & ~bit_13));
    CHECK(words[2] == pattern);
    CHECK(words[3] == (pattern & ~bit_8));
}

TEST_CASE("Updates do not disturb atomic operations of the program on the other bits") {
    alignas(8) LongWord long_word{0};
    Word word{0};
    DataFile file;
    const Event event(unique_name("atomic"));
    REQUIRE(file.register_event(&word, 0, event.name(), 4) == succeeds());
    REQUIRE(file.register_event(&long_word, 0, event.name(), 8) == succeeds());

    // The program counts in all other bits. It sleeps so that the update makes progress in a guest
    // that emulates one CPU at a time.
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> counted{0};
    std::jthread counter([&] {
        while (!stop) {
            word += 2;
            long_word += 2;
            if (++counted % 1000 == 0)
                std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    });
    unsigned wrong = 0;
    for (int round = 0; round < 40; round++) {
        event.enable();
        wrong += (word & 1) == 0 || (long_word & 1) == 0;
        event.disable();
        wrong += (word & 1) != 0 || (long_word & 1) != 0;
    }
    CHECK(eventually([&] { return counted > 1000; }));
    stop = true;
    counter.join();
    CHECK(wrong == 0);
    CHECK(long_word == counted * 2);
    CHECK(word == static_cast<std::uint32_t>(counted * 2));
}

TEST_CASE("REG sets the bit if the event is enabled, and clears it otherwise") {
    alignas(8) Word words[2] = {0xf0, 0xff};
    DataFile file;
    const Event event(unique_name("at_once"));
    REQUIRE(file.register_event(&words[0], 0, event.name()) == succeeds());
    {
        Enabled enabled{event};
        CHECK(file.register_event(&words[0], 1, event.name()) == succeeds());
        CHECK(words[0] == 0xf3);
        CHECK(file.register_event(words, 63, event.name(), 8) == succeeds());
        CHECK(words[1] == 0x800000ff);
    }
    CHECK(words[0] == 0xf0);
    CHECK(words[1] == 0xff);
    CHECK(file.register_event(&words[1], 4, event.name()) == succeeds());
    CHECK(words[1] == 0xef);
}

TEST_CASE("Bits on the stacks of several threads follow their event") {
    DataFile file;
    const Event event(unique_name("threads"));
    Word main_word{0};
    REQUIRE(file.register_event(&main_word, 0, event.name()) == succeeds());

    constexpr unsigned threads = 4;
    std::atomic<unsigned> registered{0}, saw_set{0}, saw_cleared{0};
    std::atomic<bool> disabled{false};
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < threads; i++)
        running.emplace_back([&, i] {
            Word word{0};
            DataFile own;
            own.must_register(&word, i, event.name());
            registered++;
            saw_set += eventually([&] { return word == 1u << i; });
            saw_cleared += eventually([&] { return disabled && word == 0; });
        });
    REQUIRE(eventually([&] { return registered == threads; }));
    {
        Enabled enabled{event};
        CHECK(main_word == 1);
        CHECK(eventually([&] { return saw_set == threads; }));
    }
    disabled = true;
    running.clear();
    CHECK(saw_cleared == threads);
}

TEST_CASE("A registration remains after the thread that made it has exited") {
    Word word{0};
    DataFile file;
    const Event event(unique_name("thread_exited"));
    Outcome outcome = fails(ECHILD);
    std::jthread([&] { outcome = file.register_event(&word, 0, event.name()); }).join();
    REQUIRE(outcome == succeeds());
    Enabled enabled{event};
    CHECK(word == 1);
}

TEST_CASE("Two processes have separate bits for the same event") {
    const Event event(unique_name("processes"));
    const auto body = [&](Channel& channel) {
        Word word{0};
        DataFile file;
        file.must_register(&word, 7, event.name());
        channel.send('r');
        // Replies to each request with the current value of the word.
        while (channel.receive<char>() == '?')
            channel.send(word.load());
        return 0;
    };
    Child one(body), other(body);
    REQUIRE(one.channel().receive<char>() == 'r');
    REQUIRE(other.channel().receive<char>() == 'r');
    const auto ask = [](Child& child) {
        child.channel().send('?');
        return child.channel().receive<std::uint32_t>();
    };
    {
        Enabled enabled{event};
        CHECK(ask(one) == 1u << 7);
        CHECK(ask(other) == 1u << 7);
    }
    CHECK(ask(one) == 0);
    CHECK(ask(other) == 0);
    {
        Enabled enabled{event};
        one.channel().send('e');
        CHECK(one.wait() == 0);
        CHECK(ask(other) == 1u << 7);
    }
    other.channel().send('e');
    CHECK(other.wait() == 0);
}

TEST_CASE("Two processes can each register a bit of one word in shared memory") {
    Mapping shared(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    const Event event(unique_name("shared"));
    Child child([&](Channel& channel) {
        DataFile file;
        file.must_register(shared.at(), 1, event.name());
        channel.send('r');
        channel.receive<char>();
        return 0;
    });
    REQUIRE(child.channel().receive<char>() == 'r');
    DataFile file;
    REQUIRE(file.register_event(shared.at(), 0, event.name()) == succeeds());
    const Word& word = *shared.at<Word>();
    {
        Enabled enabled{event};
        CHECK(word == 3);
    }
    CHECK(word == 0);
    child.channel().send('e');
    CHECK(child.wait() == 0);
}

TEST_CASE("An update reaches a bit in a page discarded by MADV_DONTNEED") {
    DataFile file;
    const Event event(unique_name("absent"));
    Mapping memory(1);
    REQUIRE(file.register_event(memory.at(), 0, event.name()) == succeeds());
    REQUIRE(file.register_event(memory.at(page_size - 8), 63, event.name(), 8) == succeeds());
    REQUIRE(madvise(memory.at(), page_size, MADV_DONTNEED) == 0);
    {
        Enabled enabled{event};
        CHECK(eventually([&] { return *memory.at<Word>() == 1; }));
        CHECK(eventually([&] { return *memory.at<LongWord>(page_size - 8) == 1ull << 63; }));
    }
    CHECK(eventually([&] { return *memory.at<Word>() == 0; }));
    CHECK(eventually([&] { return *memory.at<LongWord>(page_size - 8) == 0; }));
}

TEST_CASE("A bit in a file mapping is updated; the file itself changes only with MAP_SHARED") {
    const Descriptor backing = one_page_memfd();
    const int flags = GENERATE(MAP_SHARED, MAP_PRIVATE);
    CAPTURE(flags);
    Mapping memory(1, PROT_READ | PROT_WRITE, flags, backing.number());
    DataFile file;
    const Event event(unique_name("of_a_file"));
    REQUIRE(file.register_event(memory.at(64), 5, event.name()) == succeeds());
    Enabled enabled{event};
    CHECK(eventually([&] { return *memory.at<Word>(64) == 1u << 5; }));

    std::uint32_t in_file = 0;
    REQUIRE(pread(backing.number(), &in_file, sizeof(in_file), 64) == sizeof(in_file));
    CHECK(in_file == (flags == MAP_SHARED ? 1u << 5 : 0));
}

TEST_CASE("An update skips read-only memory") {
    DataFile file;
    const Event event(unique_name("read_only"));
    Mapping memory(1);
    Word other{0};
    REQUIRE(file.register_event(memory.at(), 0, event.name()) == succeeds());
    REQUIRE(file.register_event(&other, 0, event.name()) == succeeds());
    const Word& word = *memory.at<Word>();

    memory.protect(PROT_READ);
    {
        Enabled enabled{event};
        CHECK(other == 1);
        CHECK(word == 0);
    }
    memory.protect(PROT_READ | PROT_WRITE);
    CHECK(word == 0);
    {
        Enabled enabled{event};
        CHECK(eventually([&] { return word == 1; }));
        memory.protect(PROT_READ);
    }
    CHECK(word == 1);
    memory.protect(PROT_READ | PROT_WRITE);
    {
        Enabled enabled{event};
        CHECK(eventually([&] { return word == 1; }));
    }
    CHECK(eventually([&] { return word == 0; }));
}

namespace {

/// A recorder that can be attached to an event, in addition to those that it has.
struct AnotherRecorder {
    const char* name;
    std::function<void()> attach, detach;
};

std::vector<AnotherRecorder> other_recorders(const Event& event, Instance& instance,
                                             std::unique_ptr<PerfEvent>& perf) {
    const std::string trigger = instance.path(event, "trigger");
    return {
        {"an instance", [&] { expect(instance.enable(event), "enable"); },
         [&] { expect(instance.disable(event), "disable"); }},
        {"a trigger in an instance", [=] { expect(write_text(trigger, "traceoff"), trigger); },
         [=] { expect(write_text(trigger, "!traceoff"), trigger); }},
        {"perf", [&] { perf = std::make_unique<PerfEvent>(perf_attributes(event)); },
         [&] { perf.reset(); }},
    };
}

/// What makes a bit wrong while its event is enabled.
struct Damage {
    const char* name;
    std::function<void(const Mapping&)> apply;
};

void map_anew(const Mapping& memory) {
    if (mmap(memory.at(), page_size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != memory.at())
        throw_errno("mmap");
}

const Damage damages[] = {
    {"the program clears the word", [](const Mapping& memory) { *memory.at<Word>() = 0; }},
    {"the program discards the page",
     [](const Mapping& memory) { madvise(memory.at(), page_size, MADV_DONTNEED); }},
    {"the program maps other memory there", map_anew},
};

} // namespace

TEST_CASE("Adding or removing a recorder writes the bits of an event that stays enabled") {
    const Event event(unique_name("again"));
    Mapping memory(1);
    DataFile file;
    REQUIRE(file.register_event(memory.at(), 0, event.name()) == succeeds());
    Instance instance;
    std::unique_ptr<PerfEvent> perf;
    const Word& word = *memory.at<Word>();
    const auto is_set = [&] { return word == 1; };
    const Enabled enabled{event};
    for (const AnotherRecorder& recorder : other_recorders(event, instance, perf))
        for (const Damage& damage : damages) {
            CAPTURE(recorder.name, damage.name);
            damage.apply(memory);
            CHECK(word == 0);
            recorder.attach();
            CHECK(is_set());
            damage.apply(memory);
            CHECK(word == 0);
            recorder.detach();
            CHECK(is_set());
        }
}

TEST_CASE("Attaching a recorder does not write the bits of other events") {
    const Event event(unique_name("attached")), other(unique_name("other"));
    Word word{0}, other_word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    REQUIRE(file.register_event(&other_word, 0, other.name()) == succeeds());
    Instance instance;
    const Enabled enabled{event}, other_enabled{other};
    word = other_word = 0;
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(word == 1);
    CHECK(other_word == 0);
    REQUIRE(instance.disable(event) == succeeds());
}

TEST_CASE("A bit that was read-only when its event was enabled is set when the recorders change") {
    const bool detaches = GENERATE(false, true);
    CAPTURE(detaches);
    const Event event(unique_name("late"));
    Mapping memory(1);
    DataFile file;
    REQUIRE(file.register_event(memory.at(), 0, event.name()) == succeeds());
    const Word& word = *memory.at<Word>();
    Instance instance;
    memory.protect(PROT_READ);
    const Enabled enabled{event};
    if (detaches)
        REQUIRE(instance.enable(event) == succeeds());
    CHECK(word == 0);
    memory.protect(PROT_READ | PROT_WRITE);
    CHECK(word == 0);
    REQUIRE((detaches ? instance.disable(event) : instance.enable(event)) == succeeds());
    CHECK(word == 1);
    if (!detaches)
        REQUIRE(instance.disable(event) == succeeds());
}

TEST_CASE("A shared bit that a child unregistered is set again when another recorder is added") {
    const Event event(unique_name("child"));
    Mapping memory(1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
    DataFile file;
    REQUIRE(file.register_event(memory.at(), 0, event.name()) == succeeds());
    const Word& word = *memory.at<Word>();
    Instance instance;
    const Enabled enabled{event};
    CHECK(word == 1);
    REQUIRE(in_child([&] { return file.unregister(memory.at(), 0).error(); }) == 0);
    CHECK(word == 0);
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(word == 1);
    REQUIRE(instance.disable(event) == succeeds());
    CHECK(word == 1);
}

TEST_CASE("Adding a recorder also sets the bit of a child that was forked before") {
    const Event event(unique_name("forked"));
    Word word{0};
    DataFile file;
    REQUIRE(file.register_event(&word, 0, event.name()) == succeeds());
    Instance instance;
    const Enabled enabled{event};
    word = 0;
    Child child([&](Channel& channel) {
        while (channel.receive<bool>())
            channel.send(word.load());
        return 0;
    });
    CHECK(child.channel().ask<std::uint32_t>(true) == 0);
    REQUIRE(instance.enable(event) == succeeds());
    CHECK(child.channel().ask<std::uint32_t>(true) == 1);
    CHECK(word == 1);
    child.channel().send(false);
    CHECK(child.wait() == 0);
    REQUIRE(instance.disable(event) == succeeds());
}

TEST_CASE("An update writes no bit that was unregistered or that an exited child registered") {
    DataFile file;
    const Event event(unique_name("unregistered"));
    Mapping memory(1);
    auto& words = *memory.at<std::array<Word, 4>>();
    REQUIRE(file.register_event(&words[0], 0, event.name()) == succeeds());
    REQUIRE(file.register_event(&words[1], 0, event.name()) == succeeds());
    REQUIRE(file.unregister(&words[0], 0) == succeeds());
    // The child's registration ends with the child, although it has the same address.
    REQUIRE(in_child([&] {
                DataFile own;
                return own.register_event(&words[2], 0, event.name()).error();
            }) == 0);
    Enabled enabled{event};
    // The fork made the page copy-on-write, so its update can be late.
    CHECK(eventually([&] { return words[1] == 1; }));
    CHECK(words[0] == 0);
    CHECK(words[2] == 0);
}

TEST_CASE("Updates reach all bits of a program with 2000 registrations") {
    constexpr std::size_t count = 2000;
    Mapping memory(8);
    DataFile file;
    const Event event(unique_name("many"));
    std::size_t failures = 0;
    for (std::size_t i = 0; i < count; i++)
        failures += file.register_event(memory.at(i * 16), i % 32, event.name()) != succeeds();
    REQUIRE(failures == 0);

    const auto count_wrong = [&](bool set) {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; i++)
            wrong += *memory.at<Word>(i * 16) != (set ? 1u << i % 32 : 0);
        return wrong;
    };
    {
        Enabled enabled{event};
        CHECK(count_wrong(true) == 0);
    }
    CHECK(count_wrong(false) == 0);
}
