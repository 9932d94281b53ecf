// SPDX-License-Identifier: GPL-2.0-only
// How many records threads write at the same time.
#include "clock.hpp"
#include "groups.hpp"

#include "on_cpu.hpp"
#include "registered.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

/// A file of one's own with an index for the event.
struct Door {
    explicit Door(const std::string& command) : index(file.index_of(&word, 0, command)) {}

    Word word{0};
    DataFile file;
    const std::uint32_t index;
};

/// Records a second of threads that write through a file each, on a CPU each. Every door counts as
/// one thread; the same twice is two threads on one file.
double rate(const std::vector<const Door*>& doors) {
    std::atomic<bool> begun = false, ended = false;
    std::atomic<std::uint64_t> records = 0;
    std::vector<std::jthread> writers;
    for (std::size_t i = 0; i < doors.size(); i++)
        writers.emplace_back([&, i] {
            const OnCpu pinned(static_cast<int>(i));
            const Bytes bytes = Payload().add(doors[i]->index).add(std::uint64_t{2}).bytes();
            const int file = doors[i]->file.descriptor();
            std::uint64_t written = 0;
            begun.wait(false);
            while (!ended.load(std::memory_order_relaxed))
                written += write(file, bytes.data(), bytes.size()) > 0;
            records += written;
        });
    // A second in which both are on their way already.
    begun = true;
    begun.notify_all();
    const std::uint64_t start = now();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    ended = true;
    writers.clear();
    return static_cast<double>(records) * 1e9 / static_cast<double>(now() - start);
}

} // namespace

void threads(Report& report) {
    const std::string name = unique_name("threads");
    const Door first(name + " u64 value"), second(name + " u64 value");
    const Enabled enabled{Event(name)};
    const std::pair<const char*, std::vector<const Door*>> ways[] = {
        {"one thread", {&first}},
        {"two threads, one file", {&first, &first}},
        {"two threads, a file each", {&first, &second}},
    };
    // In turn, so that what disturbs this machine disturbs all of them.
    std::vector<double> rates[std::size(ways)];
    for (int i = 0; i < 7; i++)
        for (std::size_t way = 0; way < std::size(ways); way++)
            rates[way].push_back(rate(ways[way].second));
    for (std::size_t way = 0; way < std::size(ways); way++)
        report.add(std::string("write 8 bytes, ftrace, ") + ways[way].first, median(rates[way]),
                   "per second");
}

} // namespace bench
