// SPDX-License-Identifier: GPL-2.0-or-later
// Makes requests of records.
#pragma once

#include "export/tracks.hpp"
#include "otlp/batch.hpp"
#include "otlp/log_record.hpp"
#include "otlp/queue.hpp"
#include "otlp/resources.hpp"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tool::otlp {

enum class encoding { protobuf, json };

/// Records become log records; those that begin and end a slice, an activity or one of the pairs
/// become spans, and so do those with which a program describes a whole span.
class encoder final : exporting::interpreter {
public:
    /// `use` takes the finished requests.
    encoder(encoding as, const std::vector<exporting::pair>& pairs, resources& resources,
            std::function<void(request)> use);
    ~encoder() override;

    /// Sets the observed time of the records that follow to the present time. flush() does the same
    /// once for each request: reading the clock for each record would cost as much as all other
    /// work for some records.
    void observe();
    /// Takes a record, whose time is that of day. Records have to be in the order of their times,
    /// and their events have to exist until the end.
    void add(const recording::record& record);
    /// Ends the requests that were begun, as far as they have records.
    void flush();
    /// Makes log records of the beginnings that have no end, and flushes.
    void finish();

private:
    struct open_span;
    /// By the event.
    using spans = exporting::open_list<int, open_span>;

    void add_log(const recording::record& record, const open_span* in);
    const std::string& serialized(const recording::record& record);
    const std::string& origin_of(const recording::record& record);
    void begin(const recording::record& record, std::string_view name, const open_span* around,
               open_span& to);
    std::string new_trace(const recording::record& record);
    void fill_own(attribute_list& to, const recording::record& from);
    void add_span(const open_span& begun, const recording::record& end);
    void add_unfinished(const open_span& begun);
    void add_finished_span(const recording::record& record);
    void begin_span(const recording::record& record, const exporting::span_mark& mark) override;
    void end_span(const recording::record& record, const exporting::span_mark& mark) override;
    void add_slice(const recording::record& record, const exporting::convention& fields) override;
    void add_counter(const recording::record& record, const exporting::convention& fields) override;
    void add_moment(const recording::record& record, const exporting::span_mark& mark) override;
    const open_span* related(const recording::record& record,
                             const exporting::span_mark& mark) const;
    bool take_slice(const recording::record& record, const exporting::convention& fields);
    const open_span* innermost(int thread) const;
    std::string random_bytes(std::size_t size);
    void count_closed(const open_span& begun);
    void limit_open_spans();
    void limit_request();
    void send(signal which, batch& made);

    encoding as_;
    resources& resources_;
    std::function<void(request)> use_;
    /// Slices that have begun, by track. Only tracks that have some are here: programs choose how
    /// many tracks there are.
    std::map<exporting::track_key, spans> slices_;
    exporting::open_spans<open_span> open_spans_;
    /// How many have begun, and about how many bytes they take.
    std::size_t open_ = 0;
    std::size_t open_size_ = 0;
    bool has_warned_ = false;
    batch logs_, spans_;
    /// Filled again for each record, because its attributes keep their memory.
    message::LogRecord log_;
    std::string serialized_;
    /// The serialized attributes that all log records of a thread, CPU and sample have in common.
    /// They are made again when the thread has another name.
    struct origin {
        std::string task, serialized;
    };
    std::map<std::tuple<int, int, std::uint32_t>, origin> origins_;
    /// What is left of the last random bytes of the kernel.
    std::string random_;
    std::uint64_t observed_;
};

/// Makes the requests that tell the collector about dropped records, with the resource of
/// user-events itself.
queue::report_maker report_maker(encoding as);

} // namespace tool::otlp
