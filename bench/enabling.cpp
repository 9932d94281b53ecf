// SPDX-License-Identifier: GPL-2.0-only
// What it costs to enable an event, by who else is there.
#include "clock.hpp"
#include "groups.hpp"

#include "child.hpp"
#include "registered.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <sys/uio.h>
#include <thread>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

/// Processes that have registered an event, and wait.
class Subscribers {
public:
    Subscribers(std::size_t count, const std::string& event, std::size_t registrations)
        : words_(registrations) {
        for (std::size_t i = 0; i < count; i++) {
            children_.push_back(std::make_unique<Child>([&](Channel& channel) {
                DataFile file;
                for (const Word& word : words_)
                    file.index_of(&word, 0, event);
                channel.send(true);
                return channel.receive<bool>() ? 0 : 1;
            }));
            children_.back()->channel().receive<bool>();
        }
    }

    /// How many of them see their first bit set.
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

private:
    // Theirs are at the same address.
    std::vector<Word> words_;
    std::vector<std::unique_ptr<Child>> children_;
};

/// Returns what it cost; a note says so when the bits came later.
double measure(Report& report, const std::string& with, const Event& event,
               const Subscribers& subscribers, bool subscribed) {
    std::vector<double> costs;
    std::size_t late = 0;
    for (int i = 0; i < 15; i++) {
        // An end that tracing has not yet done with would be waited for.
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

void others(Report& report, std::size_t count) {
    // Before this process registers anything, which they would inherit.
    const Subscribers subscribers(count, unique_name("other") + " u32 a", 50);
    const Registered event(" u32 a");
    measure(report, ", " + std::to_string(count) + " others with 50 registrations of another",
            event.event, subscribers, false);
}

void own(Report& report, std::size_t count) {
    const std::string name = unique_name("own");
    const Subscribers subscribers(count, name + " u32 a", 1);
    const double all = measure(report, ", " + std::to_string(count) + " processes registered it",
                               Event(name), subscribers, true);
    report.add("enable an event, each process", all / static_cast<double>(count));
}

/// The end of the last recording is not over for tracing: the figure is time, more than work.
void again(Report& report) {
    const Registered event(" u32 a");
    std::vector<double> costs;
    for (int i = 0; i < 15; i++) {
        costs.push_back(cost_once([&] { expect(event.event.enable(), "enable"); }));
        expect(event.event.disable(), "disable");
    }
    report.add("enable an event that was disabled just before", median(costs));
}

/// All of them in this process.
void own_registrations(Report& report, std::size_t count) {
    // They must go after the file that has registered them.
    std::vector<Word> words(count - 1);
    Registered event(" u32 a");
    for (const Word& word : words)
        event.file.index_of(&word, 0, event.event.name() + " u32 a");
    measure(report, ", " + std::to_string(count) + " registrations in one process", event.event,
            Subscribers(0, "", 0), false);
}

} // namespace

void enabling(Report& report) {
    for (std::size_t count : {0, 50, 500})
        others(report, count);
    own(report, 500);
    own_registrations(report, 500);
    again(report);
}

} // namespace bench
