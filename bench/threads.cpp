// SPDX-License-Identifier: GPL-2.0-only
// The rate at which parallel threads write records.
#include "clock.hpp"
#include "groups.hpp"

#include "descriptor.hpp"
#include "on_cpu.hpp"
#include "registered.hpp"

#include <user_events/event.hpp>

#include <atomic>
#include <fcntl.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace selftest;

namespace bench {

namespace {

namespace ue = user_events;

const ue::event<"threads_library", ue::field<"value", std::uint64_t>> library_event;

/// Returns the writes per second of `count` parallel threads, each on its own CPU. Each calls
/// `prepare` with its number, which returns a function that writes once and says whether it could.
template <typename Prepare>
double rate(std::size_t count, Prepare prepare) {
    std::atomic<bool> begun = false, ended = false;
    std::atomic<std::uint64_t> writes = 0;
    std::vector<std::jthread> writers;
    for (std::size_t i = 0; i < count; i++)
        writers.emplace_back([&, i] {
            const OnCpu pinned(static_cast<int>(i));
            auto&& write_once = prepare(i);
            std::uint64_t written = 0;
            begun.wait(false);
            while (!ended.load(std::memory_order_relaxed))
                written += write_once();
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

/// A thread for each of the files.
double rate_of_files(const std::vector<int>& files, const Bytes& bytes) {
    return rate(files.size(), [&](std::size_t i) {
        return [&bytes, file = files[i]] { return write(file, bytes.data(), bytes.size()) > 0; };
    });
}

bool write_by_library() {
    library_event(2);
    return true;
}

} // namespace

void threads(Report& report) {
    const std::string command = unique_name("threads") + " u64 value";
    Word word{0};
    DataFile first, second;
    const std::uint32_t index = first.must_register(&word, 0, command);
    // It has the same index in both files: 0.
    second.must_register(&word, 1, command);
    const Enabled enabled{Event(command.substr(0, command.find(' ')))};
    const Bytes record = Payload().add(index).add(std::uint64_t{2}).bytes();
    const auto null = Descriptor::open("/dev/null", O_WRONLY);
    const auto also_null = Descriptor::open("/dev/null", O_WRONLY);

    const Enabled library_enabled{Event("threads_library")};
    DataFile shared;
    std::string note;
    if (!shared.share_indexes(first).ok()) {
        shared.must_register(&word, 2, command);
        note = "registered again";
    }

    const auto of_files = [&record](std::vector<int> files) {
        return [&record, files = std::move(files)] { return rate_of_files(files, record); };
    };
    const struct {
        const char* what;
        std::function<double()> rate;
        std::string note = {};
    } ways[] = {
        {"ftrace, one thread", of_files({first.descriptor()})},
        {"ftrace, two threads, one file", of_files({first.descriptor(), first.descriptor()})},
        {"ftrace, two threads, a file each", of_files({first.descriptor(), second.descriptor()})},
        {"ftrace, two threads, a file each, shared indexes",
         of_files({first.descriptor(), shared.descriptor()}), note},
        {"/dev/null, two threads, one file", of_files({null.number(), null.number()})},
        {"/dev/null, two threads, a file each", of_files({null.number(), also_null.number()})},
        {"the C++ library, two threads, one file",
         [] { return rate(2, [](std::size_t) { return write_by_library; }); }},
    };
    // Alternates short runs, so that other load on the machine affects all cases alike.
    std::vector<double> rates[std::size(ways)];
    for (int i = 0; i < 35; i++)
        for (std::size_t way = 0; way < std::size(ways); way++)
            rates[way].push_back(ways[way].rate());
    if (library_event.lost())
        throw std::runtime_error("records were lost");
    for (std::size_t way = 0; way < std::size(ways); way++)
        report.add(std::string("write 8 bytes, ") + ways[way].what, median(rates[way]),
                   "per second", ways[way].note);
}

} // namespace bench
