// SPDX-License-Identifier: GPL-2.0-or-later
#include "tracing/live_source.hpp"

#include "text/errors.hpp"
#include "text/new_file.hpp"
#include "tracing/buffers.hpp"
#include "tracing/libtracefs.hpp"
#include "tracing/mounted.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <utility>

namespace tool::tracing {

namespace {

/// How long to read if no clock tells what was made since.
constexpr std::chrono::milliseconds longest(50);
/// Reading the time takes as long as a small record.
constexpr unsigned steps = 256;
/// How often to look whether the format of an event was mounted in the meantime.
constexpr std::chrono::seconds format_pause(1);

} // namespace

live_source::live_source(const instance& in, const wanted_events& wanted,
                         std::optional<eventheader::filter> filter, live_options how)
    : in_(in), how_(std::move(how)), selector_(wanted, std::move(filter)),
      formats_(how_.has_only_instance || in.is_mounted() ? in.copy() : instance::top()),
      tasks_(in.with_names(), !in.is_mounted() || has_threads_of_records()),
      lost_before_(in.is_mounted() ? lost_records(in) : 0),
      clock_id_(readable_clock(name_of_clock(in))), clock_(clock_id_.value_or(CLOCK_MONOTONIC)),
      texts_([] { return text::contents_of("/proc/kallsyms"); },
             [this] { return in_.with_names().try_read("printk_formats").value_or(""); }) {
    open_buffers();
}

void live_source::open_buffers() {
    for (const int cpu : cpus(in_)) {
        const std::shared_ptr<tracefs_cpu> pages(open_buffer(in_, cpu));
        const recording::page_layout layout{
            .size = static_cast<std::size_t>(tracefs_cpu_read_size(pages.get()))};
        buffers_.add(std::make_unique<recording::ring_buffer>(
            cpu, layout, [pages](std::span<std::byte> page) {
                return tracefs_cpu_read(pages.get(), page.data(), true) > 0;
            }));
    }
}

void live_source::read(const function& use) {
    clock_.measure();
    tasks_.refresh();
    // A buffer that is found empty after this moment has no records from before it. So those from
    // before it can be put in order; later ones wait. By a clock that is unknown here, none waits.
    const auto end = clock_id_ ? static_cast<std::uint64_t>(nanoseconds(*clock_id_))
                               : std::numeric_limits<std::uint64_t>::max();
    now_ = clock::now();
    buffers_.refill();
    for (unsigned i = 1; const auto first = buffers_.first(); i++) {
        if (buffers_[*first].time() >= end || !this->use(buffers_[*first], use))
            return;
        buffers_.advance_first();
        // Otherwise programs that are fast enough would keep the caller here for ever.
        if (!clock_id_ && i % steps == 0 && clock::now() - now_ >= longest)
            return;
    }
}

void live_source::read_rest(const function& use) {
    while (const auto first = buffers_.first()) {
        this->use(buffers_[*first], use);
        buffers_.advance_first(false);
    }
}

bool live_source::use(const recording::ring_buffer& from, const function& use) {
    const auto head = recording::to_head(from.data(), std::endian::native == std::endian::big);
    const known_type& known = type_of(head.event);
    if (known.is_unknown ? !how_.take_unknown : !selector_.may_include(*known.type))
        return skip();
    recording::record record{
        .time = how_.has_wall_clock ? clock_.to_wall(from.time()) : from.time(),
        .cpu = from.cpu(),
        .pid = head.thread,
        .tgid = 0,
        .task = {},
        .instance = {},
        .event = known.type.get(),
        .data = from.data(),
    };
    if (how_.has_tasks) {
        const task& task = tasks_.find(head.thread);
        record.tgid = task.process;
        record.task = task.name;
    }
    if (known.is_unknown) {
        how_.take_unknown(record);
        return true;
    }
    if (known.has_kernel_texts) {
        named_.assign(record.data.begin(), record.data.end());
        texts_.name(*known.type, named_);
        record.data = named_;
    }
    describe(record, known_events_);
    return selector_.includes(record) ? use(record) : skip();
}

/// Returns that there may be more.
bool live_source::skip() {
    if (how_.skip)
        how_.skip();
    return true;
}

const live_source::known_type& live_source::type_of(int id) {
    const auto [at, is_new] = types_.try_emplace(id);
    known_type& known = at->second;
    const bool is_due =
        is_new || (known.is_unknown && in_.is_mounted() && now_ - known.looked >= format_pause);
    if (!is_due)
        return known;
    known.looked = now_;
    if (const tep_event* const event = is_new ? formats_.find(id) : formats_.find_again(id))
        set_type(known, *event);
    else if (is_new)
        set_unknown(known, id);
    return known;
}

void live_source::set_type(known_type& to, const tep_event& event) {
    if (to.is_unknown)
        replaced_.push_back(std::move(to.type));
    to.is_unknown = false;
    to.type = std::make_unique<recording::event_type>(event);
    to.has_kernel_texts = recording::kernel_texts::name_fields(*to.type);
    if (how_.change)
        how_.change(*to.type);
}

void live_source::set_unknown(known_type& to, int id) {
    to.is_unknown = true;
    to.type = std::make_unique<recording::event_type>(id, "?", std::to_string(id));
    if (!how_.take_unknown)
        text::warn(fmt::format("there are records of the event {}, which was removed", id),
                   in_.is_mounted() ? fmt::format("or its format is not in {}", in_.path("events"))
                                    : "");
}

std::uint64_t live_source::lost() const {
    const std::uint64_t lost = lost_records(in_);
    return lost - std::min(lost, lost_before_);
}

} // namespace tool::tracing
