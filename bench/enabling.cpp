// SPDX-License-Identifier: GPL-2.0-only
// The cost of enabling an event, depending on the processes that have registered events.
#include "clock.hpp"
#include "groups.hpp"

#include "child.hpp"
#include "perf.hpp"
#include "registered.hpp"
#include "rule.hpp"
#include "text_file.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <sys/uio.h>
#include <thread>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

/// Child processes that have each registered an event and then sleep.
class Subscribers {
public:
    Subscribers(std::size_t count, const std::string& event, std::size_t registrations)
        : words_(registrations) {
        for (std::size_t i = 0; i < count; i++) {
            children_.push_back(std::make_unique<Child>([&](Channel& channel) {
                DataFile file;
                for (const Word& word : words_)
                    file.must_register(&word, 0, event);
                channel.send(true);
                return channel.receive<bool>() ? 0 : 1;
            }));
            children_.back()->channel().receive<bool>();
        }
    }

    /// Returns the number of children whose first bit is set.
    std::size_t enabled() const {
        std::size_t count = 0;
        for (const auto& child : children_) {
            std::uint32_t value = 0;
            iovec here{&value, sizeof(value)};
            iovec there{const_cast<Word*>(words_.data()), sizeof(value)};
            if (process_vm_readv(child->pid(), &here, 1, &there, 1, 0) < 0)
                throw_errno("process_vm_readv");
            count += value;
        }
        return count;
    }

    std::size_t count() const { return children_.size(); }
    pid_t first() const { return children_.front()->pid(); }

private:
    // The children's copies are at the same address.
    std::vector<Word> words_;
    std::vector<std::unique_ptr<Child>> children_;
};

/// Returns the median cost. If bits were still clear when enabling returned, a note says so.
double measure(Report& report, const std::string& with, const Event& event,
               const Subscribers& subscribers, bool subscribed) {
    std::vector<double> costs;
    std::size_t late = 0;
    for (int i = 0; i < 15; i++) {
        // Tracing completes the previous disable asynchronously; enabling would wait for that.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        costs.push_back(cost_once([&] { expect(event.enable(), "enable"); }));
        if (subscribed)
            late += subscribers.count() - subscribers.enabled();
        expect(event.disable(), "disable");
    }
    const double cost = median(costs);
    report.add("enable an event" + with, cost, "instructions",
               late > 0 ? "bits were set later" : "");
    return cost;
}

void with_unrelated_processes(Report& report, std::size_t count) {
    // Forked before this process registers its event, which they would inherit.
    const Subscribers subscribers(count, unique_name("other") + " u32 a", 50);
    const Registered event(" u32 a");
    measure(report, ", " + std::to_string(count) + " others with 50 registrations of another",
            event.event, subscribers, false);
}

void with_subscribed_processes(Report& report, std::size_t count) {
    const std::string name = unique_name("own");
    const Subscribers subscribers(count, name + " u32 a", 1);
    const double all = measure(report, ", " + std::to_string(count) + " processes registered it",
                               Event(name), subscribers, true);
    report.add("enable an event, per process", all / static_cast<double>(count));
}

/// Opening a perf event that records one of the processes, and one that records all.
void with_perf(Report& report, std::size_t count) {
    const std::string name = unique_name("target");
    const Subscribers subscribers(count, name + " u32 a", 1);
    const perf_event_attr attributes = perf_attributes(Event(name));
    const auto cost_of = [&](pid_t pid, int cpu) {
        std::vector<double> costs;
        for (int i = 0; i < 15; i++) {
            std::optional<PerfEvent> perf;
            // The module limits how many bits are written directly in 100 ms.
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            costs.push_back(cost_once([&] { perf.emplace(attributes, pid, cpu); }));
        }
        return median(costs);
    };
    const std::string of = " of " + std::to_string(count) + " processes that registered an event";
    report.add("open perf of one" + of, cost_of(subscribers.first(), -1));
    report.add("open perf of all" + of, cost_of(-1, 0));
}

/// Adding a rule for one of the processes; in-tree, enabling the event for all.
void with_rule(Report& report, std::size_t count) {
    const std::string name = unique_name("ruled");
    const Subscribers subscribers(count, name + " u32 a", 1);
    const Event event(name);
    Instance instance;
    const std::string rule =
        name + " instance=" + instance.name() + " pid=" + std::to_string(subscribers.first());
    const bool has_rules = exists(rules_file());
    std::vector<double> costs;
    for (int i = 0; i < 15; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        costs.push_back(cost_once(
            [&] { expect(has_rules ? change_rule(rule) : instance.enable(event), "record one"); }));
        expect(has_rules ? change_rule("!" + rule) : instance.disable(event), "record none");
    }
    report.add("record one of " + std::to_string(count) + " processes, by a rule", median(costs),
               "instructions", has_rules ? "" : "all of them");
}

/// Measures enabling that first waits until tracing has completed the previous disable.
void after_disabling(Report& report) {
    const Registered event(" u32 a");
    std::vector<double> costs;
    for (int i = 0; i < 15; i++) {
        costs.push_back(cost_once([&] { expect(event.event.enable(), "enable"); }));
        expect(event.event.disable(), "disable");
    }
    report.add("enable an event that was disabled just before", median(costs));
}

void with_registrations(Report& report, std::size_t count) {
    // Declared before `event`, whose file must be destroyed first.
    std::vector<Word> words(count - 1);
    Registered event(" u32 a");
    for (const Word& word : words)
        event.file.must_register(&word, 0, event.event.name() + " u32 a");
    measure(report, ", " + std::to_string(count) + " registrations in one process", event.event,
            Subscribers(0, "", 0), false);
}

} // namespace

void enabling(Report& report) {
    for (std::size_t count : {0, 50, 500})
        with_unrelated_processes(report, count);
    with_subscribed_processes(report, 500);
    for (std::size_t count : {1, 500, 1000}) {
        with_perf(report, count);
        with_rule(report, count);
    }
    with_registrations(report, 500);
    after_disabling(report);
}

} // namespace bench
