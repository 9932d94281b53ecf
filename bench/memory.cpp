// SPDX-License-Identifier: GPL-2.0-only
// What the kernel keeps for an event, a registration and a process.
#include "groups.hpp"

#include "child.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

/// The memory that the kernel has given to itself, in bytes.
double kernel_memory() {
    double kilobytes = 0;
    for (const std::string& line : lines_of(read_text("/proc/meminfo")))
        for (const char* kind : {"Slab:", "VmallocUsed:", "Percpu:"})
            if (line.starts_with(kind))
                kilobytes += std::stod(line.substr(std::string(kind).size()));
    return kilobytes * 1024;
}

/// The same when nothing that was freed before is on its way any more. It looks less often than the
/// kernel does its work, which takes no time where idle time is passed over.
double settled_kernel_memory() {
    double memory = kernel_memory();
    for (int same = 0; same < 10;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const double last = std::exchange(memory, kernel_memory());
        same = memory == last ? same + 1 : 0;
    }
    return memory;
}

/// What each of many takes. The first ones take what is there already.
double each(std::size_t count, const std::function<void(std::size_t)>& add) {
    for (std::size_t i = 0; i < count / 10; i++)
        add(i);
    const double before = settled_kernel_memory();
    for (std::size_t i = count / 10; i < count; i++)
        add(i);
    return (settled_kernel_memory() - before) / static_cast<double>(count - count / 10);
}

void registrations(Report& report) {
    const std::string command = unique_name("registered") + " u32 a";
    std::vector<Word> words(10'000);
    DataFile file;
    report.add("a registration",
               each(words.size(), [&](std::size_t n) { file.index_of(&words[n], 0, command); }),
               "bytes");
}

/// Of which one process holds an index and a registration each.
void events(Report& report) {
    const std::string name = unique_name("event");
    std::vector<Word> words(4000);
    DataFile file;
    report.add("an event, and its first registration",
               each(words.size(),
                    [&](std::size_t n) {
                        file.index_of(&words[n], 0, name + "_" + std::to_string(n) + " u32 a");
                    }),
               "bytes");
}

/// Which all have opened the file before.
void processes(Report& report) {
    const std::string command = unique_name("process") + " u32 a";
    Word word{0};
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 500; i++) {
        children.push_back(std::make_unique<Child>([&](Channel& channel) {
            DataFile file;
            channel.send(true);
            channel.receive<bool>();
            file.index_of(&word, 0, command);
            channel.send(true);
            return channel.receive<bool>() ? 0 : 1;
        }));
        children.back()->channel().receive<bool>();
    }
    report.add("a process, and its first registration",
               each(children.size(),
                    [&](std::size_t n) {
                        children[n]->channel().send(true);
                        children[n]->channel().receive<bool>();
                    }),
               "bytes");
}

} // namespace

void memory(Report& report) {
    registrations(report);
    events(report);
    processes(report);
}

} // namespace bench
