// SPDX-License-Identifier: GPL-2.0-or-later
// The Common Trace Format, versions 1.8 and 2: a directory with a file for each CPU of an instance,
// and what describes these.
#include "export/ctf_format.hpp"
#include "export/ctf_payload.hpp"
#include "export/exporter.hpp"
#include "export/output_directory.hpp"
#include "text/escape.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tool::exporting {

namespace {

using recording::kind;

/// A packet ends when it has so many bytes. Each stream has one in memory.
constexpr std::size_t packet_size = 1 << 17;
/// Layouts of fields in payloads. The fields of further ones are a text.
constexpr std::size_t most_layouts = 1000;

ctf_type type_of(const recording::field& field) {
    switch (field.kind) {
    case kind::integer:
    case kind::natural:
        return {field.is_signed ? ctf_kind::integer : ctf_kind::natural, field.size};
    case kind::real:
        return {ctf_kind::real, field.size};
    case kind::integers:
        return {ctf_kind::array,
                0,
                {{field.is_signed ? ctf_kind::integer : ctf_kind::natural, field.element_size}}};
    case kind::bytes:
        return {ctf_kind::array, 0, {{ctf_kind::hexadecimal, 1}}};
    case kind::text:
    case kind::absent:
        break;
    }
    return {ctf_kind::text};
}

/// Appends a field. What the record lacks is 0 or empty.
void append_field(std::string& to, const recording::field& field, const recording::value& value) {
    switch (field.kind) {
    case kind::integer:
    case kind::natural:
        append_number(to, value.natural, field.size);
        break;
    case kind::real:
        append_real(to, value.real, field.size);
        break;
    case kind::integers:
        append_number(to, value.data.size() / field.element_size, ctf_count_size);
        for_each_integer(field, value,
                         [&](std::uint64_t each) { append_number(to, each, field.element_size); });
        break;
    case kind::bytes:
        append_number(to, value.data.size(), ctf_count_size);
        to += value.text();
        break;
    case kind::text:
    case kind::absent:
        append_text(to, value.text());
        break;
    }
}

struct stream {
    std::uint32_t number = 0;
    /// What follows the head of the packet that is open.
    std::optional<std::string> packet;
    std::uint64_t begin = 0; // of that packet
    std::uint64_t packets = 0;
    std::uint64_t last = 0; // time
    std::uint64_t lost = 0;
    /// Until when records are missing since the last packet.
    std::optional<std::uint64_t> lost_until;
};

class ctf_exporter final : public exporter {
public:
    using describe = std::string (*)(const ctf_trace&);

    ctf_exporter(std::string directory, describe describe)
        : directory_(std::move(directory)), describe_(describe) {
        ctf_type& context = trace_.context = {ctf_kind::structure};
        append_member(context, "cpu", {ctf_kind::integer, 4});
        append_member(context, "task", {ctf_kind::text});
        append_member(context, "pid", {ctf_kind::integer, 4});
        append_member(context, "tgid", {ctf_kind::integer, 4});
        append_member(context, "instance", {ctf_kind::text});
    }

    void add(const recording::record& record) override;
    void add_gap(const recording::gap& gap) override;
    void finish() override;

private:
    std::uint32_t number_of(const recording::event_type& event);
    std::uint32_t number_of_payload(const recording::record& record,
                                    const eventheader::shown_event& shown);
    std::uint32_t add_event(const std::string& name, ctf_type header, ctf_type fields);
    stream& stream_of(std::string_view instance, int cpu);
    void begin_packet(stream& stream);
    void end_packet(stream& stream);

    std::string directory_;
    describe describe_;
    ctf_trace trace_;
    std::unordered_map<int, std::uint32_t> numbers_;
    /// Of payloads that describe themselves, by system, name and layout.
    std::unordered_map<std::string, std::uint32_t> payload_numbers_;
    std::string payload_key_;
    payload_tree tree_;
    std::map<std::pair<std::string, int>, stream> streams_;
};

std::uint32_t ctf_exporter::add_event(const std::string& name, ctf_type header, ctf_type fields) {
    trace_.events.push_back({text::escaped(name), std::move(header), std::move(fields)});
    return static_cast<std::uint32_t>(trace_.events.size() - 1);
}

std::uint32_t ctf_exporter::number_of(const recording::event_type& event) {
    const auto [at, is_new] = numbers_.try_emplace(event.id);
    if (is_new) {
        ctf_type fields{ctf_kind::structure};
        for (const recording::field& field : event.fields)
            append_member(fields, field.name, type_of(field));
        at->second =
            add_event(event.system + ":" + event.name, {ctf_kind::structure}, std::move(fields));
    }
    return at->second;
}

/// Each layout of fields is an event of its own.
std::uint32_t ctf_exporter::number_of_payload(const recording::record& record,
                                              const eventheader::shown_event& shown) {
    tree_.fill(shown, payload_numbers_.size() >= most_layouts);
    if (std::optional<std::string> stack = shown_stack(record))
        tree_.add_text(recording::stack_field, std::move(*stack));
    std::string& key = payload_key_;
    (key = record.event->system) += ':';
    append_name(key, shown);
    const std::size_t name_size = key.size();
    key += '\0';
    tree_.append_layout(key);
    const auto [at, is_new] = payload_numbers_.try_emplace(key);
    if (is_new)
        at->second = add_event(key.substr(0, name_size), payload_header_type(), tree_.type());
    return at->second;
}

stream& ctf_exporter::stream_of(std::string_view instance, int cpu) {
    const auto [at, is_new] = streams_.try_emplace({std::string(instance), cpu});
    if (is_new)
        at->second.number = static_cast<std::uint32_t>(streams_.size() - 1);
    return at->second;
}

void ctf_exporter::begin_packet(stream& stream) {
    stream.packet.emplace();
    stream.begin = stream.last;
    // All times of a recording are of one clock.
    trace_.is_wall_clock = recording::is_wall_clock(stream.begin);
}

void ctf_exporter::end_packet(stream& stream) {
    if (!stream.packet)
        return;
    std::string packet;
    append_packet(packet,
                  {.stream = stream.number,
                   .begin = stream.begin,
                   .end = stream.last,
                   .number = stream.packets,
                   .lost = stream.lost},
                  *stream.packet);
    add_to_file(directory_, fmt::format("stream-{}", stream.number), packet, stream.packets++ > 0);
    stream.packet.reset();
}

/// The format has discarded events from the end of a packet to the end of the next one. So a packet
/// ends where records are missing, and the next one has one record.
void ctf_exporter::add_gap(const recording::gap& gap) {
    stream& stream = stream_of(gap.instance, gap.cpu);
    if (!stream.packet && stream.packets == 0) {
        stream.last = gap.time;
        begin_packet(stream);
    }
    end_packet(stream);
    // The format cannot say that the number is not known.
    stream.lost += std::max<std::uint64_t>(gap.lost, 1);
    stream.lost_until = gap.time;
}

void ctf_exporter::add(const recording::record& record) {
    std::optional<eventheader::shown_event> described;
    if (record.event->is_described)
        described.emplace(to_shown_event(record));
    const std::uint32_t number =
        described ? number_of_payload(record, *described) : number_of(*record.event);
    stream& stream = stream_of(record.instance, record.cpu);
    // The times of a damaged file may go back, which the format cannot express.
    stream.last = std::max(stream.last, record.time);
    if (!stream.packet)
        begin_packet(stream);
    std::string& to = *stream.packet;
    append_number(to, number, 4);
    append_number(to, stream.last, 8);
    append_number(to, static_cast<std::uint64_t>(record.cpu), 4);
    append_text(to, record.task);
    append_number(to, static_cast<std::uint64_t>(record.pid), 4);
    append_number(to, static_cast<std::uint64_t>(record.tgid), 4);
    append_text(to, record.instance);
    if (described) {
        append_payload_header(to, *described);
        tree_.append(to);
    } else {
        for (const recording::field& field : record.event->fields)
            append_field(to, field, read(field, record.data));
    }
    if (std::exchange(stream.lost_until, {}) || to.size() >= packet_size)
        end_packet(stream);
}

void ctf_exporter::finish() {
    for (auto& [key, stream] : streams_) {
        if (stream.lost_until) {
            stream.last = std::max(stream.last, *stream.lost_until);
            begin_packet(stream);
        }
        end_packet(stream);
    }
    add_to_file(directory_, "metadata", describe_(trace_), false);
}

} // namespace

std::unique_ptr<exporter> make_ctf(const options& options) {
    return std::make_unique<ctf_exporter>(options.directory, to_ctf_1_metadata);
}

std::unique_ptr<exporter> make_ctf2(const options& options) {
    return std::make_unique<ctf_exporter>(options.directory, to_ctf_2_metadata);
}

} // namespace tool::exporting
