// SPDX-License-Identifier: GPL-2.0-only
// The rate at which parallel threads write records.
#include "clock.hpp"
#include "groups.hpp"

#include "descriptor.hpp"
#include "on_cpu.hpp"
#include "registered.hpp"

#include <atomic>
#include <fcntl.h>
#include <string>
#include <thread>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

/// Returns the writes per second of parallel threads: one for each of the files, each on its own
/// CPU.
double rate(const std::vector<int>& files, const Bytes& bytes) {
    std::atomic<bool> begun = false, ended = false;
    std::atomic<std::uint64_t> writes = 0;
    std::vector<std::jthread> writers;
    for (std::size_t i = 0; i < files.size(); i++)
        writers.emplace_back([&, i] {
            const OnCpu pinned(static_cast<int>(i));
            std::uint64_t written = 0;
            begun.wait(false);
            while (!ended.load(std::memory_order_relaxed))
                written += write(files[i], bytes.data(), bytes.size()) > 0;
            writes += written;
        });
    begun = true;
    begun.notify_all();
    const std::uint64_t start = now();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ended = true;
    writers.clear();
    return static_cast<double>(writes) * 1e9 / static_cast<double>(now() - start);
}

} // namespace

void threads(Report& report) {
    const std::string command = unique_name("threads") + " u64 value";
    Word word{0};
    DataFile first, second;
    const std::uint32_t index = first.must_register(&word, 0, command);
    // It has the same index in both files: 0.
    second.must_register(&word, 1, command);
    DataFile shared;
    std::string note;
    if (!shared.share_indexes(first).ok()) {
        shared.must_register(&word, 2, command);
        note = "registered again";
    }
    const Enabled enabled{Event(command.substr(0, command.find(' ')))};
    const Bytes record = Payload().add(index).add(std::uint64_t{2}).bytes();
    const auto null = Descriptor::open("/dev/null", O_WRONLY);
    const auto also_null = Descriptor::open("/dev/null", O_WRONLY);

    const struct {
        const char* what;
        std::vector<int> files;
        std::string note = {};
    } ways[] = {
        {"ftrace, one thread", {first.descriptor()}},
        {"ftrace, two threads, one file", {first.descriptor(), first.descriptor()}},
        {"ftrace, two threads, a file each", {first.descriptor(), second.descriptor()}},
        {"ftrace, two threads, a file each, shared indexes",
         {first.descriptor(), shared.descriptor()},
         note},
        {"/dev/null, two threads, one file", {null.number(), null.number()}},
        {"/dev/null, two threads, a file each", {null.number(), also_null.number()}},
    };
    // Alternates short runs, so that other load on the machine affects all cases alike.
    std::vector<double> rates[std::size(ways)];
    for (int i = 0; i < 35; i++)
        for (std::size_t way = 0; way < std::size(ways); way++)
            rates[way].push_back(rate(ways[way].files, record));
    for (std::size_t way = 0; way < std::size(ways); way++)
        report.add(std::string("write 8 bytes, ") + ways[way].what, median(rates[way]),
                   "per second", ways[way].note);
}

} // namespace bench
