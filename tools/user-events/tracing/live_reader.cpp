// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/live_reader.hpp"

#include "text/errors.hpp"
#include "tracing/libtracefs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <initializer_list>
#include <string_view>

extern "C" {
#include <kbuffer.h>
}

namespace tool::tracing {

/// The buffer of one CPU: a page of it, and the next record there.
struct live_reader::cpu_buffer {
    cpu_buffer(tracefs_cpu* from, int number)
        : pages(from), page(static_cast<std::size_t>(tracefs_cpu_read_size(from))), cpu(number),
          parser(kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST)) {
        if (!parser)
            throw std::bad_alloc();
    }
    cpu_buffer(const cpu_buffer&) = delete;
    cpu_buffer& operator=(const cpu_buffer&) = delete;
    ~cpu_buffer() {
        kbuffer_free(parser);
        tracefs_cpu_close(pages);
    }

    /// Makes `next` the next record, or null if there is none at present. Without `take`, only of
    /// what was taken out of the instance.
    void advance(bool take = true) {
        unsigned long long at = 0;
        if (next)
            next = kbuffer_next_event(parser, &at);
        while (take && !next && tracefs_cpu_read(pages, page.data(), true) > 0 &&
               kbuffer_load_subbuffer(parser, page.data()) == 0)
            next = kbuffer_read_event(parser, &at);
        time = at;
    }

    live_record record() const {
        const auto size = static_cast<std::size_t>(kbuffer_event_size(parser));
        return {time, cpu, {static_cast<std::byte*>(next), size}};
    }

    tracefs_cpu* pages;
    std::vector<std::byte> page;
    int cpu;
    kbuffer* parser;
    void* next = nullptr;
    std::uint64_t time = 0;
};

live_reader::live_reader(const instance& in) : in_(in) {
    const auto cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpus; cpu++) {
        if (!in.has(fmt::format("per_cpu/cpu{}", cpu)))
            continue;
        tracefs_cpu* const pages = tracefs_cpu_open(in.get(), cpu, true);
        if (!pages)
            throw text::file_failure(errno, "read",
                                     in.path(fmt::format("per_cpu/cpu{}/trace_pipe_raw", cpu)));
        buffers_.push_back(std::make_unique<cpu_buffer>(pages, cpu));
    }
}

live_reader::~live_reader() = default;

std::size_t live_reader::read(const std::function<bool(const live_record&)>& use) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    // A buffer that is found empty after this moment has no records from before it. So those from
    // before it can be put in order; later ones wait.
    const std::uint64_t end = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                              static_cast<std::uint64_t>(now.tv_nsec);
    for (const auto& buffer : buffers_)
        if (!buffer->next)
            buffer->advance();
    collect();
    for (std::size_t count = 0;; count++) {
        cpu_buffer* const first = first_before(end);
        if (!first)
            return count;
        if (!use(first->record()))
            return count + 1;
        advance_first(true);
    }
}

/// Of two records of the same time, that of the lower CPU comes first.
struct live_reader::is_later {
    bool operator()(const cpu_buffer* a, const cpu_buffer* b) const noexcept {
        return a->time != b->time ? a->time > b->time : a->cpu > b->cpu;
    }
};

void live_reader::collect() {
    waiting_.clear();
    for (const auto& buffer : buffers_)
        if (buffer->next)
            waiting_.push_back(buffer.get());
    std::make_heap(waiting_.begin(), waiting_.end(), is_later());
}

live_reader::cpu_buffer* live_reader::first_before(std::uint64_t end) {
    return waiting_.empty() || waiting_.front()->time >= end ? nullptr : waiting_.front();
}

void live_reader::advance_first(bool take) {
    std::pop_heap(waiting_.begin(), waiting_.end(), is_later());
    waiting_.back()->advance(take);
    if (waiting_.back()->next)
        std::push_heap(waiting_.begin(), waiting_.end(), is_later());
    else
        waiting_.pop_back();
}

void live_reader::read_rest(const std::function<void(const live_record&)>& use) {
    while (cpu_buffer* const first = first_before(~std::uint64_t{0})) {
        use(first->record());
        advance_first(false);
    }
}

std::uint64_t live_reader::lost() const {
    return lost_records(in_);
}

namespace {

/// Sums of the statistics of all CPUs. The names are as in "overrun: ".
std::uint64_t sum_of(const instance& in, std::initializer_list<std::string_view> names) {
    std::uint64_t result = 0;
    for (const auto& cpu : directories(in.path("per_cpu"))) {
        const std::string stats = in.try_read("per_cpu/" + cpu + "/stats").value_or("");
        for (const auto name : names)
            // Not "commit overrun".
            if (const auto at = stats.find("\n" + std::string(name)); at != stats.npos)
                result += std::strtoull(stats.c_str() + at + 1 + name.size(), nullptr, 10);
    }
    return result;
}

} // namespace

std::uint64_t lost_records(const instance& in) {
    return sum_of(in, {"overrun: ", "dropped events: "});
}

std::uint64_t read_records(const instance& in) {
    return sum_of(in, {"read events: "});
}

std::uint64_t waiting_bytes(const instance& in) {
    return sum_of(in, {"bytes: "});
}

void set_buffer_size(const instance& in, std::uint64_t size) {
    in.write("buffer_size_kb", std::to_string(std::max<std::uint64_t>(size >> 10, 4)));
}

} // namespace tool::tracing
