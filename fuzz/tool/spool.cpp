// SPDX-License-Identifier: GPL-2.0-only
// Fuzzes the queue of `ship` with a directory. If the first byte is odd, the directory begins with
// files of any names and bytes. Then come operations: what is put into the queue, sent, refused,
// lost, or left over when the process ends and begins again. At the end, each record has to be
// counted once, as sent or as dropped.
#include "input.hpp"
#include "otlp/queue.hpp"
#include "text/errors.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

namespace {

using tool::otlp::queue;

/// Small numbers, and those at the end of what a number can be.
std::uint64_t number(input& from) {
    const unsigned byte = from.byte();
    return byte < 200 ? byte : std::uint64_t{0} - (byte - 200);
}

std::string name(input& from) {
    constexpr const char* signals[] = {"logs", "traces", "metrics", "none"};
    switch (from.byte() % 4) {
    case 0:
        return "state";
    case 1: {
        std::string any(from.take(from.byte() % 40));
        std::erase(any, '/');
        std::erase(any, '\0');
        return any;
    }
    default: {
        const auto sequence = number(from);
        const char* const signal = signals[from.byte() % 4];
        const auto records = number(from);
        return fmt::format("{}.{}.{}.{}", sequence, signal, records, number(from));
    }
    }
}

void add_files(input& from, const std::string& directory) {
    for (unsigned count = from.byte() % 8; count > 0; count--) {
        const std::string path = directory + "/" + name(from);
        const bool is_directory = from.byte() % 16 == 15;
        if (is_directory && !std::filesystem::exists(path))
            std::filesystem::create_directory(path);
        else
            std::ofstream(path) << from.take(from.byte());
    }
}

/// The process of a `ship` that ends, and the next one.
class ship {
public:
    explicit ship(std::string directory) : directory_(std::move(directory)) { begin(); }

    void begin() {
        queue_.reset();
        queue_ = std::make_unique<queue>(directory_, 40'000, [](const auto& report) {
            return std::string(report.drops.size(), 'r');
        });
        // front() does not wait.
        queue_->stop();
    }
    /// What others have left does not count.
    void forget() {
        empty();
        queue_->set_instance("i", 0);
        put_ = sent_ = 0;
        before_ = dropped();
    }
    void operate(input& from) {
        switch (from.byte() % 8) {
        case 0:
        case 1:
            return put(from.byte());
        case 2:
            return send([&] { queue_->finish(); }, true);
        case 3:
            return send([&] { queue_->refuse(); }, false);
        case 4:
            return drop(from.byte());
        case 5:
            return queue_->report();
        case 6:
            return begin();
        default:
            return queue_->set_instance("i" + std::to_string(from.byte() % 3), put_);
        }
    }
    void end() {
        begin();
        empty();
        require(put_ == sent_ + dropped() - before_);
    }

private:
    void empty() {
        while (!queue_->is_empty())
            send([&] { queue_->finish(); }, true);
    }
    std::uint64_t dropped() {
        const auto drops = queue_->drops();
        return std::accumulate(drops.begin(), drops.end(), std::uint64_t{0},
                               [](auto sum, const auto& each) { return sum + each.second; });
    }
    void put(std::uint64_t records) {
        queue_->put({.records = records, .body = std::string(records * 100, 'x')});
        put_ += records;
    }
    void drop(std::uint64_t records) {
        queue_->drop(tool::otlp::reason::stopped, records);
        put_ += records;
        // That is on the disk with the next request.
        put(1);
    }
    template <typename Done>
    void send(Done done, bool is_taken) {
        if (queue_->is_empty())
            return;
        const auto request = queue_->front();
        // A damaged file may have been the last one.
        if (!request)
            return;
        done();
        sent_ += is_taken ? request->records : 0;
    }

    std::string directory_;
    std::unique_ptr<queue> queue_;
    std::uint64_t put_ = 0, sent_ = 0, before_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::string directory = [] {
        std::string made = "/dev/shm/spool_XXXXXX";
        require(mkdtemp(made.data()));
        return made;
    }();
    input from(data, size);
    const bool has_files = from.byte() % 2;
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
    if (has_files)
        add_files(from, directory);
    std::optional<ship> all;
    try {
        all.emplace(directory);
        all->forget();
    } catch (const tool::text::failure&) {
        require(has_files);
        return 0;
    }
    while (!from.is_empty())
        all->operate(from);
    all->end();
    return 0;
}
