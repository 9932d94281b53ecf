// SPDX-License-Identifier: GPL-2.0-or-later
// The records of an instance as they are made.
#pragma once

#include "recording/kernel_text.hpp"
#include "recording/record.hpp"
#include "recording/ring_buffer.hpp"
#include "tracing/events.hpp"
#include "tracing/selector.hpp"
#include "tracing/tasks.hpp"
#include "tracing/tracefs.hpp"
#include "tracing/wall_clock.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace tool::tracing {

struct live_options {
    /// Whether times are those of the day, not those of the instance's clock: see readable_clock().
    bool has_wall_clock = false;
    /// Whether the names and processes of threads are looked for.
    bool has_tasks = true;
    /// Whether the user may read no other files of tracefs than those of the instance.
    bool has_only_instance = false;
    /// May change the type of an event before it is used.
    std::function<void(recording::event_type&)> change = {};
    /// Called for the records of events that were removed before their format was read, whatever is
    /// wanted. Their name is the event's number. Without it, there is a warning for each event.
    std::function<void(const recording::record&)> take_unknown = {};
    /// Called for each record that was taken out of the instance, but is not wanted.
    std::function<void()> skip = {};
};

/// Takes the records that are wanted out of an instance. The instance and `wanted` have to exist as
/// long as the object. Of a mounted instance, the names of threads are known as far as
/// has_threads_of_records() says so, or there is a file saved_cmdlines.
class live_source {
public:
    using function = std::function<bool(const recording::record&)>;

    /// The filter is that of selector.
    live_source(const instance& in, const wanted_events& wanted,
                std::optional<eventheader::filter> filter = {}, live_options how = {});

    /// Calls the function for each record until now, in the order of their times, until it returns
    /// false. With a clock that is no readable_clock(), this is for some moments at most: the next
    /// call goes on. The types of records exist as long as the object.
    void read(const function& use);

    /// Calls the function for the records that were taken out of the instance, but that read() has
    /// left for later.
    void read_rest(const function& use);

    /// How many records were lost until now, because the buffers were full. Of a mounted instance,
    /// since the object exists.
    std::uint64_t lost() const;

    /// For the end: a field of the filter that is mistyped would silently choose no record.
    void warn_of_unknown_fields() const { selector_.warn_of_unknown_fields(); }

private:
    using clock = std::chrono::steady_clock;

    struct known_type {
        std::unique_ptr<recording::event_type> type;
        bool is_unknown = false;
        bool has_kernel_texts = false;
        /// When its format was looked for.
        clock::time_point looked;
    };

    void open_buffers();
    bool use(const recording::ring_buffer& from, const function& use);
    bool skip();
    const known_type& type_of(int id);
    void set_type(known_type& to, const tep_event& event);
    void set_unknown(known_type& to, int id);

    const instance& in_;
    live_options how_;
    selector selector_;
    recording::merged_buffers buffers_;
    formats formats_;
    std::map<int, known_type> types_;
    /// Records may have had these before their formats were known.
    std::vector<std::unique_ptr<recording::event_type>> replaced_;
    /// When read() began.
    clock::time_point now_;
    tasks tasks_;
    std::uint64_t lost_before_;
    std::optional<clockid_t> clock_id_;
    wall_clock clock_;
    eventpipe::known_events known_events_;
    recording::kernel_texts texts_;
    std::vector<std::byte> named_;
};

} // namespace tool::tracing
