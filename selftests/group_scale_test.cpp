// SPDX-License-Identifier: GPL-2.0-only
// What groups cost, in instructions: among a thousand others, and for a write.
#include "catch.hpp"
#include "descriptor.hpp"
#include "group.hpp"
#include "mapping.hpp"
#include "median.hpp"
#include "text_file.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <optional>
#include <unistd.h>
#include <vector>

using namespace selftest;

namespace {

/// The time that this thread has used: with a clock that counts instructions, their number.
double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <typename Operation>
double cost_of(Operation&& operation) {
    const double start = now();
    operation();
    return now() - start;
}

enum What { add, create, register_bit, enable, disable, remove_group, whats };
constexpr const char* names[whats] = {"add a group",       "register an event that is new",
                                      "register an event", "enable an event",
                                      "disable an event",  "remove a group"};

/// The medians for a group that comes and goes.
std::array<double, whats> costs() {
    std::vector<double> all[whats];
    const unsigned rounds = 16;
    for (unsigned round = 0; round < rounds; round++) {
        std::array<double, whats> now{};
        std::optional<Group> group;
        now[add] = cost_of([&] { group.emplace(); });
        {
            Mapping memory(1);
            Word* const words = memory.at<Word>();
            DataFile file = group->open();
            // The first event also makes the tracing system.
            file.must_register(words, 0, "first u32 a");
            now[create] = cost_of([&] { file.must_register(words, 1, "second u32 a"); });
            now[register_bit] = cost_of([&] { file.must_register(words, 2, "second u32 a"); });
            const Event event = group->event("second");
            // To find the file takes tracefs longer, the more systems there are.
            const Descriptor file_of_event = Descriptor::open(event.path("enable"), O_WRONLY);
            const auto write = [&](const char* text) {
                expect(Outcome::of(::write(file_of_event.number(), text, 1)), "write to enable");
            };
            now[enable] = cost_of([&] { write("1"); });
            now[disable] = cost_of([&] { write("0"); });
        }
        expect(Outcome::success(group->event("first").wait_removed() &&
                                group->event("second").wait_removed()),
               "the events are removed");
        now[remove_group] = cost_of([&] { expect(group->remove(), "remove the group"); });
        group.reset();
        // The first half warms up.
        for (unsigned i = 0; round >= rounds / 2 && i < whats; i++)
            all[i].push_back(now[i]);
    }
    std::array<double, whats> result{};
    std::transform(std::begin(all), std::end(all), result.begin(),
                   [](const auto& each) { return median(each); });
    return result;
}

/// A group with persistent events.
struct Filled {
    explicit Filled(unsigned events) {
        Mapping memory(1);
        DataFile file = group.open();
        for (unsigned i = 0; i < events; i++)
            file.must_register(memory.at<Word>() + i, 0, "event" + std::to_string(i) + " u32 a", 4,
                               USER_EVENT_REG_PERSIST);
    }

    const Group group;
};

} // namespace

TEST_CASE("Among 1000 groups of 30 events, what a group does costs within a tenth of what it costs "
          "beside one",
          "[counted][long]") {
    constexpr unsigned events = 30;
    std::vector<std::unique_ptr<Filled>> groups;
    groups.push_back(std::make_unique<Filled>(events));
    const auto few = costs();
    while (groups.size() < 1000)
        groups.push_back(std::make_unique<Filled>(events));
    const auto many = costs();
    for (unsigned i = 0; i < whats; i++) {
        INFO(names[i] << ": " << few[i] << " instructions beside one group, " << many[i]
                      << " beside 1000");
        CHECK(many[i] < 1.1 * few[i]);
    }
}

TEST_CASE("A write to the device of a group takes as many instructions as one to user_events_data",
          "[counted]") {
    const Group group;
    const std::string name = unique_name("counted");
    Mapping memory(1);
    DataFile files[] = {DataFile(), group.open()};
    const Event events[] = {Event(name), group.event(name)};
    Instance instance;
    double least[2];
    for (unsigned i = 0; i < 2; i++) {
        files[i].must_register(memory.at<Word>() + i, 0, name + " u64 a");
        REQUIRE(instance.enable(events[i]) == succeeds());
        least[i] = std::numeric_limits<double>::max();
    }
    const Bytes bytes(12);
    // The best batch is one without an interrupt.
    for (unsigned batch = 0; batch < 100; batch++)
        for (unsigned i = 0; i < 2; i++)
            least[i] = std::min(least[i], cost_of([&] {
                                              for (unsigned n = 0; n < 256; n++)
                                                  files[i].write(bytes);
                                          }) / 256);
    CAPTURE(least[0], least[1]);
    CHECK(least[1] < least[0] + 1);
    for (const Event& event : events)
        REQUIRE(instance.disable(event) == succeeds());
}
