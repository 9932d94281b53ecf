// SPDX-License-Identifier: GPL-2.0-or-later
// A file in the format of Perfetto: packets in protocol buffers. The numbers of fields are those of
// perfetto_trace.proto of Perfetto 56.
#pragma once

#include "export/output_file.hpp"
#include "recording/record.hpp"

#include <cstdint>
#include <functional>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tool::exporting {

namespace proto {

enum class trace : protozero::pbf_tag_type { packet = 1 };
enum class packet : protozero::pbf_tag_type {
    clock_snapshot = 6,
    timestamp = 8,
    trusted_packet_sequence_id = 10,
    track_event = 11,
    interned_data = 12,
    sequence_flags = 13,
    previous_packet_dropped = 42,
    compressed_packets = 50,
    timestamp_clock_id = 58,
    trace_packet_defaults = 59,
    track_descriptor = 60,
};
enum class clock_snapshot : protozero::pbf_tag_type { clocks = 1, primary_trace_clock = 2 };
enum class clock : protozero::pbf_tag_type {
    clock_id = 1,
    timestamp = 2,
    is_incremental = 3,
};
enum class defaults : protozero::pbf_tag_type { timestamp_clock_id = 58 };
enum class track_descriptor : protozero::pbf_tag_type {
    uuid = 1,
    name = 2,
    process = 3,
    thread = 4,
    parent_uuid = 5,
    counter = 8,
};
enum class process : protozero::pbf_tag_type { pid = 1, process_name = 6 };
enum class thread : protozero::pbf_tag_type { pid = 1, tid = 2, thread_name = 5 };
enum class track_event : protozero::pbf_tag_type {
    debug_annotations = 4,
    type = 9,
    name_iid = 10,
    track_uuid = 11,
    name = 23,
    counter_value = 30,
    double_counter_value = 44,
    flow_ids = 47,
};
enum class annotation : protozero::pbf_tag_type {
    name_iid = 1,
    uint_value = 3,
    int_value = 4,
    double_value = 5,
    string_value = 6,
    name = 10,
    array_values = 12,
};
enum class interned_data : protozero::pbf_tag_type {
    event_names = 2,
    debug_annotation_names = 3,
};
enum class interned : protozero::pbf_tag_type { iid = 1, name = 2 };

template <typename Message>
using builder = protozero::pbf_builder<Message>;

} // namespace proto

enum class event_kind : std::uint8_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };

/// A track event that is being made.
class protobuf_event {
public:
    void begin(event_kind kind, std::uint64_t track);
    void name(std::string_view name);
    void flow(std::uint64_t id);
    void counter(const recording::value& value);
    void annotate(std::string_view name, std::string_view text);
    void annotate(std::string_view name, std::uint64_t number);
    void annotate(const recording::field& field, const recording::value& value);
    /// The fields of a payload that describes itself.
    void annotate(const eventheader::cell& cell);

private:
    friend class protobuf_trace;

    /// Names that many events have are written once, and have a number from then on.
    class name_table {
    public:
        explicit name_table(proto::interned_data field) : field_(field) {}
        /// Returns 0 for a name that is to be written with the event. Appends new names.
        std::uint64_t number_of(const std::string& name, std::string& interned);

    private:
        proto::interned_data field_;
        std::unordered_map<std::string, std::uint64_t> numbers_;
    };

    proto::builder<proto::annotation> begin_annotation(std::string_view name);
    void end_annotation();

    std::string interned_;
    std::string event_;
    std::string annotation_;
    std::string clean_;
    name_table names_{proto::interned_data::event_names};
    name_table annotation_names_{proto::interned_data::debug_annotation_names};
};

/// Writes packets, compressed in blocks.
class protobuf_trace {
public:
    /// The file has to exist as long as this.
    explicit protobuf_trace(text::new_file* file) : file_(file) {}

    /// To be called before the first packet with a time. `time` is the first one; from its size
    /// follows whether the times are of the boot clock or of the wall clock.
    void begin(std::uint64_t time);

    /// Makes a track, and returns its number.
    std::uint64_t add_process(int process, std::string_view name);
    std::uint64_t add_thread(int process, int thread, std::string_view name);
    std::uint64_t add_track(std::uint64_t parent, std::string_view name, bool is_counter = false);

    /// Begins an event, which add() writes.
    protobuf_event& event(event_kind kind, std::uint64_t track) {
        event_.begin(kind, track);
        return event_;
    }
    void add(std::uint64_t time);
    /// Records that are missing.
    void add_gap(const recording::gap& gap);

    void finish();

private:
    proto::builder<proto::packet> begin_packet(std::uint32_t sequence, std::uint32_t flags);
    void end_packet();
    std::uint64_t
    add_track(const std::function<void(proto::builder<proto::track_descriptor>&)>& describe);
    void compress();

    output_file file_;
    std::string packets_;
    std::string packet_;
    protobuf_event event_;
    std::uint64_t tracks_ = 0;
    std::uint64_t gap_track_ = 0;
    std::uint64_t last_ = 0;
    std::uint32_t clock_ = 0;
};

} // namespace tool::exporting
