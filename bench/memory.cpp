// SPDX-License-Identifier: GPL-2.0-only
// The kernel memory that an event, a registration, a process and an open file take.
#include "groups.hpp"

#include "child.hpp"
#include "mapping.hpp"
#include "slabs.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

/// Returns a value of /proc/meminfo in bytes.
double meminfo(const std::string& kind) {
    for (const std::string& line : lines_of(read_text("/proc/meminfo")))
        if (line.starts_with(kind + ":"))
            return std::stod(line.substr(kind.size() + 1)) * 1024;
    throw std::runtime_error("/proc/meminfo has no line \"" + kind + "\"");
}

/// Returns the memory that the kernel has allocated for itself, in bytes. It includes slab objects
/// in use, but not the free space in slabs. Allocations too large for a slab are in meminfo's
/// "Slab" but not in slabinfo.
double kernel_memory() {
    double objects = 0, slabs = 0;
    for (const std::string& line : lines_of(read_text("/proc/slabinfo"))) {
        std::istringstream words(line);
        std::string name, skipped;
        double active, count, size, per_slab, pages, slab_count;
        if (words >> name >> active >> count >> size >> per_slab >> pages) {
            for (int i = 0; i < 7; i++) // ": tunables 0 0 0 : slabdata"
                words >> skipped;
            words >> skipped >> slab_count;
            objects += active * size;
            slabs += slab_count * pages * static_cast<double>(page_size);
        }
    }
    return objects + meminfo("Slab") - slabs + meminfo("VmallocUsed") + meminfo("Percpu");
}

/// Returns kernel_memory() after pending frees have completed: RCU grace periods and delayed work.
/// Sleeping is cheap here, because QEMU skips idle time.
double kernel_memory_after_frees() {
    for (int i = 0; i < 3; i++) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        flush_slabs();
    }
    return kernel_memory();
}

/// Returns the bytes that each of `count` objects takes. The first tenth is not measured: those may
/// use memory that was allocated before.
double each(std::size_t count, const std::function<void(std::size_t)>& add) {
    const std::size_t first = count / 10;
    for (std::size_t i = 0; i < first; i++)
        add(i);
    const double before = kernel_memory_after_frees();
    for (std::size_t i = first; i < count; i++)
        add(i);
    return (kernel_memory_after_frees() - before) / static_cast<double>(count - first);
}

void registrations(Report& report) {
    const std::string command = unique_name("registered") + " u32 a";
    std::vector<Word> words(10'000);
    DataFile file;
    report.add(
        "a registration",
        each(words.size(), [&](std::size_t n) { file.must_register(&words[n], 0, command); }),
        "bytes");
}

/// Measures events that one process has registered once each.
void events(Report& report) {
    const std::string name = unique_name("event");
    std::vector<Word> words(4000);
    DataFile file;
    report.add("an event, and its first registration",
               each(words.size(),
                    [&](std::size_t n) {
                        file.must_register(&words[n], 0, name + "_" + std::to_string(n) + " u32 a");
                    }),
               "bytes");
}

/// Measures the first registrations of processes that have opened the file before.
void processes(Report& report) {
    const std::string command = unique_name("process") + " u32 a";
    Word word{0};
    std::vector<std::unique_ptr<Child>> children;
    for (int i = 0; i < 900; i++) {
        children.push_back(std::make_unique<Child>([&](Channel& channel) {
            DataFile file;
            channel.send(true);
            channel.receive<bool>();
            file.must_register(&word, 0, command);
            channel.send(true);
            return channel.receive<bool>() ? 0 : 1;
        }));
        children.back()->channel().receive<bool>();
    }
    report.add(
        "a process, and its first registration",
        each(children.size(), [&](std::size_t n) { children[n]->channel().ask<bool>(true); }),
        "bytes");
}

/// Measures the file's own memory as well as the `struct file`.
void files(Report& report) {
    std::vector<DataFile> files;
    report.add("an open user_events_data", each(900, [&](std::size_t) { files.emplace_back(); }),
               "bytes");
}

} // namespace

void memory(Report& report) {
    registrations(report);
    processes(report);
    events(report);
    files(report);
}

} // namespace bench
