// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/protobuf_trace.hpp"

#include "text/escape.hpp"

#include <bit>
#include <fmt/format.h>
#include <new>
#include <zlib.h>

namespace tool::exporting {

namespace {

/// Packets refer to names of earlier packets of their sequence. Gaps have one of their own, which
/// refers to nothing: readers forget what a sequence has said when packets of it are missing.
constexpr std::uint32_t records = 1, gaps = 2;
constexpr std::uint32_t starts_anew = 1, needs_names = 2;

constexpr std::uint32_t wall_clock = 1, boot_clock = 6;
/// Of the sequence: each time is counted from the one before.
constexpr std::uint32_t delta_clock = 64;

/// A program may make a new name with each record.
constexpr std::size_t most_names = 10'000;

/// What is compressed at a time.
constexpr std::size_t block = 1 << 18;

void add_clock(proto::builder<proto::clock_snapshot>& to, std::uint32_t id, std::uint64_t time) {
    proto::builder<proto::clock> clock(to, proto::clock_snapshot::clocks);
    clock.add_uint32(proto::clock::clock_id, id);
    clock.add_uint64(proto::clock::timestamp, time);
    if (id == delta_clock)
        clock.add_bool(proto::clock::is_incremental, true);
}

void add_number(proto::builder<proto::annotation>& to, bool is_signed, std::uint64_t number) {
    if (is_signed)
        to.add_int64(proto::annotation::int_value, static_cast<std::int64_t>(number));
    else
        to.add_uint64(proto::annotation::uint_value, number);
}

} // namespace

std::uint64_t protobuf_event::name_table::number_of(const std::string& name,
                                                    std::string& interned) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end())
        return found->second;
    if (numbers_.size() >= most_names)
        return 0;
    const std::uint64_t number = numbers_.size() + 1;
    numbers_.emplace(name, number);
    proto::builder<proto::interned_data> data(interned);
    proto::builder<proto::interned> entry(data, field_);
    entry.add_uint64(proto::interned::iid, number);
    entry.add_string(proto::interned::name, name);
    return number;
}

void protobuf_event::begin(event_kind kind, std::uint64_t track) {
    interned_.clear();
    event_.clear();
    proto::builder<proto::track_event> event(event_);
    event.add_enum(proto::track_event::type, static_cast<std::int32_t>(kind));
    event.add_uint64(proto::track_event::track_uuid, track);
}

void protobuf_event::name(std::string_view name) {
    clean_.clear();
    text::append_utf8(clean_, name);
    proto::builder<proto::track_event> event(event_);
    if (const std::uint64_t number = names_.number_of(clean_, interned_))
        event.add_uint64(proto::track_event::name_iid, number);
    else
        event.add_string(proto::track_event::name, clean_);
}

void protobuf_event::flow(std::uint64_t id) {
    proto::builder<proto::track_event>(event_).add_fixed64(proto::track_event::flow_ids, id);
}

void protobuf_event::counter(const recording::value& value) {
    proto::builder<proto::track_event> event(event_);
    if (value.kind == recording::kind::integer)
        event.add_int64(proto::track_event::counter_value, value.integer);
    else
        event.add_double(proto::track_event::double_counter_value, value.number());
}

/// The annotation is a message in annotation_, until end_annotation().
proto::builder<proto::annotation> protobuf_event::begin_annotation(std::string_view name) {
    clean_.clear();
    text::append_utf8(clean_, name);
    annotation_.clear();
    proto::builder<proto::annotation> annotation(annotation_);
    if (const std::uint64_t number = annotation_names_.number_of(clean_, interned_))
        annotation.add_uint64(proto::annotation::name_iid, number);
    else
        annotation.add_string(proto::annotation::name, clean_);
    return annotation;
}

void protobuf_event::end_annotation() {
    proto::builder<proto::track_event>(event_).add_message(proto::track_event::debug_annotations,
                                                           annotation_);
}

void protobuf_event::annotate(std::string_view name, std::string_view text) {
    auto annotation = begin_annotation(name);
    clean_.clear();
    text::append_utf8(clean_, text);
    annotation.add_string(proto::annotation::string_value, clean_);
    end_annotation();
}

void protobuf_event::annotate(std::string_view name, std::uint64_t number) {
    begin_annotation(name).add_uint64(proto::annotation::uint_value, number);
    end_annotation();
}

void protobuf_event::annotate(const recording::field& field, const recording::value& value) {
    if (value.kind == recording::kind::absent)
        return;
    if (value.kind == recording::kind::text) {
        annotate(field.name, value.text());
        return;
    }
    auto annotation = begin_annotation(field.name);
    if (value.kind == recording::kind::bytes) {
        clean_.clear();
        text::append_hexadecimal(clean_, value.data);
        annotation.add_string(proto::annotation::string_value, clean_);
    } else if (value.kind == recording::kind::integers) {
        for_each_integer(field, value, [&](std::uint64_t number) {
            proto::builder<proto::annotation> element(annotation, proto::annotation::array_values);
            add_number(element, field.is_signed, number);
        });
    } else if (value.kind == recording::kind::real) {
        annotation.add_double(proto::annotation::double_value, value.real);
    } else {
        add_number(annotation, value.kind == recording::kind::integer, value.natural);
    }
    end_annotation();
}

void protobuf_event::annotate(const eventheader::cell& cell) {
    using eventheader::number_kind;
    if (cell.kind == number_kind::none) {
        annotate(cell.name, cell.text);
        return;
    }
    auto annotation = begin_annotation(cell.name);
    if (cell.kind == number_kind::real)
        annotation.add_double(proto::annotation::double_value, std::bit_cast<double>(cell.number));
    else
        add_number(annotation, cell.kind == number_kind::integer, cell.number);
    end_annotation();
}

void protobuf_trace::begin(std::uint64_t time) {
    clock_ = recording::is_wall_clock(time) ? wall_clock : boot_clock;
    last_ = time;
    {
        auto packet = begin_packet(records, starts_anew);
        proto::builder<proto::clock_snapshot> clocks(packet, proto::packet::clock_snapshot);
        add_clock(clocks, clock_, time);
        add_clock(clocks, delta_clock, time);
        clocks.add_uint32(proto::clock_snapshot::primary_trace_clock, clock_);
    }
    end_packet();
    {
        auto packet = begin_packet(records, starts_anew);
        proto::builder<proto::defaults> defaults(packet, proto::packet::trace_packet_defaults);
        defaults.add_uint32(proto::defaults::timestamp_clock_id, delta_clock);
    }
    end_packet();
}

proto::builder<proto::packet> protobuf_trace::begin_packet(std::uint32_t sequence,
                                                           std::uint32_t flags) {
    packet_.clear();
    proto::builder<proto::packet> packet(packet_);
    packet.add_uint32(proto::packet::trusted_packet_sequence_id, sequence);
    packet.add_uint32(proto::packet::sequence_flags, flags);
    return packet;
}

/// Adds packet_, which is complete.
void protobuf_trace::end_packet() {
    proto::builder<proto::trace>(packets_).add_message(proto::trace::packet, packet_);
    if (packets_.size() >= block)
        compress();
}

std::uint64_t protobuf_trace::add_track(
    const std::function<void(proto::builder<proto::track_descriptor>&)>& describe) {
    const std::uint64_t number = ++tracks_;
    {
        auto packet = begin_packet(records, needs_names);
        proto::builder<proto::track_descriptor> track(packet, proto::packet::track_descriptor);
        track.add_uint64(proto::track_descriptor::uuid, number);
        describe(track);
    }
    end_packet();
    return number;
}

std::uint64_t protobuf_trace::add_process(int process, std::string_view name) {
    return add_track([&](auto& track) {
        proto::builder<proto::process> to(track, proto::track_descriptor::process);
        to.add_int32(proto::process::pid, process);
        to.add_string(proto::process::process_name, text::to_utf8(name));
    });
}

std::uint64_t protobuf_trace::add_thread(int process, int thread, std::string_view name) {
    return add_track([&](auto& track) {
        proto::builder<proto::thread> to(track, proto::track_descriptor::thread);
        to.add_int32(proto::thread::pid, process);
        to.add_int32(proto::thread::tid, thread);
        to.add_string(proto::thread::thread_name, text::to_utf8(name));
    });
}

std::uint64_t protobuf_trace::add_track(std::uint64_t parent, std::string_view name,
                                        bool is_counter) {
    return add_track([&](auto& track) {
        if (parent)
            track.add_uint64(proto::track_descriptor::parent_uuid, parent);
        track.add_string(proto::track_descriptor::name, text::to_utf8(name));
        if (is_counter)
            track.add_message(proto::track_descriptor::counter, std::string());
    });
}

void protobuf_trace::add(std::uint64_t time) {
    {
        auto packet = begin_packet(records, needs_names);
        if (time >= last_) {
            packet.add_uint64(proto::packet::timestamp, time - last_);
            last_ = time;
        } else { // in a damaged file
            packet.add_uint64(proto::packet::timestamp, time);
            packet.add_uint32(proto::packet::timestamp_clock_id, clock_);
        }
        if (!event_.interned_.empty())
            packet.add_message(proto::packet::interned_data, event_.interned_);
        packet.add_message(proto::packet::track_event, event_.event_);
    }
    end_packet();
}

void protobuf_trace::add_gap(const recording::gap& gap) {
    if (!gap_track_)
        gap_track_ = add_track(0, "lost records");
    {
        auto packet = begin_packet(gaps, starts_anew);
        packet.add_uint64(proto::packet::timestamp, gap.time);
        packet.add_uint32(proto::packet::timestamp_clock_id, clock_);
        packet.add_bool(proto::packet::previous_packet_dropped, true);
        proto::builder<proto::track_event> event(packet, proto::packet::track_event);
        event.add_enum(proto::track_event::type, static_cast<std::int32_t>(event_kind::instant));
        event.add_uint64(proto::track_event::track_uuid, gap_track_);
        event.add_string(proto::track_event::name,
                         gap.lost ? fmt::format("{} records lost", gap.lost) : "records lost");
        const auto annotate = [&](const char* name, std::uint64_t number) {
            proto::builder<proto::annotation> to(event, proto::track_event::debug_annotations);
            to.add_string(proto::annotation::name, name);
            to.add_uint64(proto::annotation::uint_value, number);
        };
        annotate("cpu", static_cast<std::uint64_t>(gap.cpu));
        annotate("since", gap.since);
        if (gap.lost)
            annotate("lost", gap.lost);
    }
    end_packet();
}

void protobuf_trace::compress() {
    uLongf size = compressBound(packets_.size());
    packet_.resize(size);
    if (::compress(reinterpret_cast<Bytef*>(packet_.data()), &size,
                   reinterpret_cast<const Bytef*>(packets_.data()), packets_.size()) != Z_OK)
        throw std::bad_alloc();
    packet_.resize(size);
    packets_.clear();
    {
        proto::builder<proto::trace> trace(file_.text());
        proto::builder<proto::packet> packet(trace, proto::trace::packet);
        packet.add_bytes(proto::packet::compressed_packets, packet_);
    }
    file_.advance();
}

void protobuf_trace::finish() {
    if (!packets_.empty())
        compress();
    file_.finish();
}

} // namespace tool::exporting
