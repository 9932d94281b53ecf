// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/mappings.hpp"

#include "text/errors.hpp"
#include "tracing/tracefs.hpp"
#include "tracing/wall_clock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fstream>
#include <linux/perf_event.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace tool::tracing {

namespace {

/// A power of two.
constexpr std::size_t ring_pages = 64;

perf_event_attr attributes() {
    perf_event_attr result{};
    result.type = PERF_TYPE_SOFTWARE;
    result.size = sizeof(result);
    result.config = PERF_COUNT_SW_DUMMY;
    result.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    result.mmap = result.mmap2 = 1;
    result.task = 1;
    result.sample_id_all = 1;
    result.use_clockid = 1;
    result.clockid = CLOCK_MONOTONIC;
    return result;
}

/// Of the messages of perf_event_open(2), what is needed of each.
struct mmap2_message {
    perf_event_header header;
    std::uint32_t process, thread;
    std::uint64_t start, size, offset;
    std::uint32_t major, minor;
    std::uint64_t inode, generation;
    std::uint32_t protection, flags;
};
struct fork_message {
    perf_event_header header;
    std::uint32_t process, parent, thread, parent_thread;
    std::uint64_t time;
};
struct lost_message {
    perf_event_header header;
    std::uint64_t id, lost;
};
/// What messages end with.
struct trailer {
    std::uint32_t process, thread;
    std::uint64_t time;
};

template <typename Part>
std::optional<Part> part_of(std::string_view message, std::size_t at = 0) {
    Part result;
    if (at > message.size() || message.size() - at < sizeof(result))
        return {};
    std::memcpy(&result, message.data() + at, sizeof(result));
    return result;
}

/// The CPUs that are in use.
std::vector<int> online_cpus() {
    std::ifstream file("/sys/devices/system/cpu/online");
    std::vector<int> result;
    // "0-3,5"
    for (std::string range; std::getline(file, range, ',');) {
        int first = 0, last = 0;
        const int count = std::sscanf(range.c_str(), "%d-%d", &first, &last);
        for (int cpu = first; count > 0 && cpu <= (count > 1 ? last : first); cpu++)
            result.push_back(cpu);
    }
    return result;
}

/// What all processes have mapped now.
mapping_table::present_mappings present_mappings(std::uint64_t now) {
    mapping_table::present_mappings result;
    for (const int number : processes()) {
        std::ifstream file(fmt::format("/proc/{}/maps", number));
        for (std::string line; std::getline(file, line);) {
            mapping found{};
            std::uint64_t end = 0;
            std::array<char, 5> rights{};
            int path = 0;
            if (std::sscanf(
                    line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
                    &found.start, &end, rights.data(), &found.offset, &found.inode, &path) == 5 &&
                rights[2] == 'x' && path > 0) {
                found.since = now;
                found.size = end - found.start;
                found.path = line.substr(static_cast<std::size_t>(path));
                result.emplace_back(number, std::move(found));
            }
        }
    }
    return result;
}

} // namespace

/// The messages of one CPU.
class mappings::ring {
public:
    explicit ring(int cpu) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        perf_event_attr attributes = tracing::attributes();
        file_ = static_cast<int>(
            syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC));
        if (file_ < 0)
            throw text::system_failure(
                errno,
                fmt::format("the kernel does not tell what programs map: {}", std::strerror(errno)),
                errno == EACCES || errno == EPERM ? "run it as root" : "");
        at_ = mmap(nullptr, size() + page_, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
        if (at_ == MAP_FAILED) {
            const int error = errno;
            close(file_);
            throw text::system_failure(
                error, fmt::format("cannot map perf's buffer: {}", std::strerror(error)), "");
        }
    }
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;
    ~ring() {
        munmap(at_, size() + page_);
        close(file_);
    }

    template <typename Function>
    void take(Function function) {
        auto* const control = static_cast<perf_event_mmap_page*>(at_);
        const std::uint64_t end =
            std::atomic_ref(control->data_head).load(std::memory_order_acquire);
        std::uint64_t at = control->data_tail;
        std::string message;
        while (at < end) {
            perf_event_header header;
            copy(at, &header, sizeof(header));
            if (header.size < sizeof(header))
                break;
            message.resize(header.size);
            copy(at, message.data(), header.size);
            function(std::string_view(message));
            at += header.size;
        }
        std::atomic_ref(control->data_tail).store(at, std::memory_order_release);
    }

private:
    std::size_t size() const noexcept { return ring_pages * page_; }
    /// A message may begin at the end of the buffer and go on at the beginning.
    void copy(std::uint64_t at, void* to, std::size_t bytes) const {
        const char* const data = static_cast<const char*>(at_) + page_;
        const std::size_t from = at % size();
        const std::size_t first = std::min(bytes, size() - from);
        std::memcpy(to, data + from, first);
        std::memcpy(static_cast<char*>(to) + first, data, bytes - first);
    }

    std::size_t page_;
    int file_;
    void* at_;
};

mappings::mappings() {
    for (const int cpu : online_cpus())
        rings_.push_back(std::make_unique<ring>(cpu));
    // What is mapped in the meantime comes twice.
    table_.renew(present_mappings(0));
}

mappings::~mappings() = default;

void mappings::take() {
    for (const auto& ring : rings_)
        ring->take([this](std::string_view message) { use(message); });
}

void mappings::forget() {
    // First what was mapped before.
    take();
    if (table_.is_full())
        table_.renew(present_mappings(static_cast<std::uint64_t>(nanoseconds(CLOCK_MONOTONIC))));
}

void mappings::use(std::string_view message) {
    const auto header = part_of<perf_event_header>(message);
    if (header->type == PERF_RECORD_LOST) {
        if (const auto lost = part_of<lost_message>(message))
            lost_ += lost->lost;
    } else if (header->type == PERF_RECORD_FORK) {
        const auto fork = part_of<fork_message>(message);
        // Not of a thread.
        if (fork && fork->process != fork->parent)
            table_.fork(static_cast<int>(fork->process), static_cast<int>(fork->parent),
                        fork->time);
    } else if (header->type == PERF_RECORD_MMAP2) {
        const auto map = part_of<mmap2_message>(message);
        const auto end = part_of<trailer>(message, message.size() - sizeof(trailer));
        if (!map || !end || message.size() < sizeof(*map) + sizeof(*end))
            return;
        std::string_view path = message.substr(sizeof(*map));
        path = path.substr(0, path.find('\0'));
        table_.add(static_cast<int>(map->process),
                   {end->time, map->start, map->size, map->offset, map->inode, std::string(path)});
    }
}

} // namespace tool::tracing
