// SPDX-License-Identifier: GPL-2.0-or-later
// The Common Trace Format. libbabeltrace2 writes it: a graph has a source component, which is here,
// and the component sink.ctf.fs. The sink asks the source for messages; the source has those of
// the records that were added since.
#include "export/ctf_library.hpp"
#include "export/ctf_payload.hpp"
#include "export/exporter.hpp"
#include "export/output_directory.hpp"
#include "export/output_file.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace tool::exporting {

namespace {

using recording::kind;

/// Records that wait until the sink is run.
constexpr std::size_t most_waiting = 1024;
/// Records in a packet. The sink has a packet in memory.
constexpr std::size_t packet_size = 16384;
/// Layouts of fields in payloads. The fields of further ones are a text.
constexpr std::size_t most_layouts = 1000;

field_class class_of(bt_trace_class* trace, const recording::field& field) {
    switch (field.kind) {
    case kind::integer:
    case kind::natural:
        return integer_class(trace, field.is_signed, field.size);
    case kind::real:
        return real_class(trace, field.size);
    case kind::integers:
    case kind::bytes: {
        const bool is_bytes = field.kind == kind::bytes;
        const field_class element =
            integer_class(trace, !is_bytes && field.is_signed, is_bytes ? 1 : field.element_size);
        if (is_bytes)
            bt_field_class_integer_set_preferred_display_base(
                element.get(), BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
        return field_class(
            made(bt_field_class_array_dynamic_create(trace, element.get(), nullptr)));
    }
    case kind::text:
    case kind::absent:
        break;
    }
    return string_class(trace);
}

void set_array(bt_field* to, const recording::field& field, const recording::value& value) {
    const bool is_bytes = field.kind == kind::bytes;
    const std::uint32_t size = is_bytes ? 1 : field.element_size;
    const std::size_t count = value.data.size() / size;
    check(bt_field_array_dynamic_set_length(to, count), "set an array");
    for (std::size_t i = 0; i < count; i++) {
        bt_field* const element = bt_field_array_borrow_element_field_by_index(to, i);
        const bool is_signed = !is_bytes && field.is_signed;
        const std::uint64_t number = recording::read_number(value.data.data() + i * size, size,
                                                            is_signed, field.is_big_endian);
        if (is_signed)
            bt_field_integer_signed_set_value(element, static_cast<std::int64_t>(number));
        else
            bt_field_integer_unsigned_set_value(element, number);
    }
}

/// Sets a field. What the record lacks is 0 or empty.
void set_field(bt_field* to, const recording::field& field, const recording::value& value) {
    switch (field.kind) {
    case kind::integer:
        bt_field_integer_signed_set_value(to, value.integer);
        break;
    case kind::natural:
        bt_field_integer_unsigned_set_value(to, value.natural);
        break;
    case kind::real:
        if (field.size == 4)
            bt_field_real_single_precision_set_value(to, static_cast<float>(value.real));
        else
            bt_field_real_double_precision_set_value(to, value.real);
        break;
    case kind::integers:
    case kind::bytes:
        set_array(to, field, value);
        break;
    case kind::text:
    case kind::absent:
        set_text(to, value.text());
        break;
    }
}

/// A record that waits, and what it refers to; or a gap, which has no event.
struct waiting {
    recording::record record;
    std::string task;
    std::string instance;
    std::vector<std::byte> data;
    /// Of a payload that describes itself.
    std::optional<std::string> stack = {};
    std::uint64_t lost = 0;
};

struct stream {
    owned<bt_stream, bt_stream_put_ref> stream;
    owned<bt_packet, bt_packet_put_ref> packet;
    std::size_t in_packet = 0;
    std::uint64_t last = 0;
    std::uint64_t ended = 0; // the last packet
    bool has_packets = false;
    /// How many records are missing before the next packet; 0 if the number is not known.
    std::optional<std::uint64_t> lost;
    std::uint64_t lost_until = 0;
};

/// What the methods of the source component work with. They are called by the library, which
/// exceptions must not pass.
class source {
public:
    std::deque<waiting> records;
    bool is_last = false;
    std::exception_ptr error;

    void initialize(bt_self_component_source* self);
    void set_iterator(bt_self_message_iterator* iterator) noexcept { iterator_ = iterator; }

    /// Fills the array as far as there are messages.
    std::uint64_t next(bt_message_array_const messages, std::uint64_t capacity);

private:
    bt_event_class* class_of_event(const recording::event_type& event);
    bt_event_class* class_of_payload(const recording::record& record,
                                     const eventheader::shown_event& shown);
    bt_event_class* make_class(const std::string& name, const field_class& fields,
                               const field_class& header);
    void make_context_class();
    stream& stream_of(const waiting& from);
    void add_gap(const waiting& from);
    void add_record(const waiting& from);
    void put_gap(stream& stream);
    void begin_packet(stream& stream, std::uint64_t time);
    void end_packet(stream& stream);
    void end_streams();
    void put(bt_message* message) { messages_.push_back(made(message)); }

    bt_self_message_iterator* iterator_ = nullptr;
    owned<bt_trace_class, bt_trace_class_put_ref> trace_class_;
    owned<bt_trace, bt_trace_put_ref> trace_;
    owned<bt_stream_class, bt_stream_class_put_ref> stream_class_;
    std::unordered_map<int, bt_event_class*> event_classes_;
    /// Of payloads that describe themselves, by system, name and layout.
    std::unordered_map<std::string, bt_event_class*> payload_classes_;
    std::string payload_key_;
    payload_tree tree_;
    std::map<std::pair<std::string, int>, stream> streams_;
    std::deque<const bt_message*> messages_;
    bool has_ended_ = false;
};

void source::initialize(bt_self_component_source* self) {
    bt_self_component* const component = bt_self_component_source_as_self_component(self);
    check(bt_self_component_source_add_output_port(self, "out", nullptr, nullptr), "add a port");
    trace_class_.reset(made(bt_trace_class_create(component)));
    stream_class_.reset(made(bt_stream_class_create(trace_class_.get())));
    trace_.reset(made(bt_trace_create(trace_class_.get())));
    const owned<bt_clock_class, bt_clock_class_put_ref> clock(
        made(bt_clock_class_create(component)));
    const bool is_wall_clock =
        !records.empty() && recording::is_wall_clock(records.front().record.time);
    bt_clock_class_set_origin_is_unix_epoch(clock.get(), is_wall_clock);
    check(bt_clock_class_set_name(clock.get(), is_wall_clock ? "wall_clock" : "since_boot"),
          "name a clock");
    check(bt_stream_class_set_default_clock_class(stream_class_.get(), clock.get()), "set a clock");
    bt_stream_class_set_supports_packets(stream_class_.get(), BT_TRUE, BT_TRUE, BT_TRUE);
    bt_stream_class_set_supports_discarded_events(stream_class_.get(), BT_TRUE, BT_TRUE);
    make_context_class();
}

/// What all records have, in the order in which add_record() sets it.
void source::make_context_class() {
    bt_trace_class* const trace = trace_class_.get();
    const field_class context(made(bt_field_class_structure_create(trace)));
    append_member(context, "cpu", integer_class(trace, true, 4));
    append_member(context, "task", string_class(trace));
    append_member(context, "pid", integer_class(trace, true, 4));
    append_member(context, "tgid", integer_class(trace, true, 4));
    append_member(context, "instance", string_class(trace));
    check(bt_stream_class_set_event_common_context_field_class(stream_class_.get(), context.get()),
          "set the fields of all events");
}

bt_event_class* source::class_of_event(const recording::event_type& event) {
    const auto [at, is_new] = event_classes_.try_emplace(event.id);
    if (!is_new)
        return at->second;
    const field_class payload(made(bt_field_class_structure_create(trace_class_.get())));
    std::set<std::string> names;
    for (const recording::field& field : event.fields) {
        append_member(payload, identifier(field.name, names), class_of(trace_class_.get(), field));
    }
    return at->second = make_class(event.system + ":" + event.name, payload, {});
}

bt_event_class* source::make_class(const std::string& name, const field_class& fields,
                                   const field_class& header) {
    // The stream class keeps it.
    bt_event_class* const event = made(bt_event_class_create(stream_class_.get()));
    const owned<bt_event_class, bt_event_class_put_ref> reference(event);
    check(bt_event_class_set_name(event, text::escaped(name).c_str()), "name an event");
    if (header)
        check(bt_event_class_set_specific_context_field_class(event, header.get()),
              "set the header");
    check(bt_event_class_set_payload_field_class(event, fields.get()), "set the fields");
    return event;
}

/// Each layout of fields is a class of its own.
bt_event_class* source::class_of_payload(const recording::record& record,
                                         const eventheader::shown_event& shown) {
    std::string& key = payload_key_;
    (key = record.event->system) += ':';
    append_name(key, shown);
    const std::size_t name_size = key.size();
    key += '\0';
    tree_.append_layout(key);
    const auto [at, is_new] = payload_classes_.try_emplace(key);
    if (is_new)
        at->second = make_class(key.substr(0, name_size), tree_.make_class(trace_class_.get()),
                                payload_header_class(trace_class_.get()));
    return at->second;
}

stream& source::stream_of(const waiting& from) {
    const auto [at, is_new] = streams_.try_emplace({from.instance, from.record.cpu});
    if (is_new) {
        at->second.stream.reset(made(bt_stream_create(stream_class_.get(), trace_.get())));
        put(bt_message_stream_beginning_create(iterator_, at->second.stream.get()));
    }
    return at->second;
}

void source::begin_packet(stream& stream, std::uint64_t time) {
    stream.packet.reset(made(bt_packet_create(stream.stream.get())));
    stream.in_packet = 0;
    stream.has_packets = true;
    put(bt_message_packet_beginning_create_with_default_clock_snapshot(iterator_,
                                                                       stream.packet.get(), time));
}

void source::end_packet(stream& stream) {
    if (stream.packet)
        put(bt_message_packet_end_create_with_default_clock_snapshot(iterator_, stream.packet.get(),
                                                                     stream.ended = stream.last));
    stream.packet.reset();
}

/// The format has discarded events from the end of the last packet to the end of the next one,
/// which begins and ends at this moment, or has one record.
void source::put_gap(stream& stream) {
    bt_message* const message =
        made(bt_message_discarded_events_create_with_default_clock_snapshots(
            iterator_, stream.stream.get(), stream.ended, stream.last));
    if (*stream.lost)
        bt_message_discarded_events_set_count(message, *stream.lost);
    put(message);
    stream.lost.reset();
}

void source::add_gap(const waiting& from) {
    stream& stream = stream_of(from);
    if (stream.has_packets) {
        end_packet(stream);
    } else {
        stream.last = from.record.time;
        begin_packet(stream, stream.last);
        end_packet(stream);
    }
    stream.lost = stream.lost.value_or(0) + from.lost;
    stream.lost_until = from.record.time;
}

void source::end_streams() {
    for (auto& [key, stream] : streams_) {
        if (stream.lost) {
            stream.last = std::max(stream.last, stream.lost_until);
            put_gap(stream);
            begin_packet(stream, stream.last);
        }
        end_packet(stream);
        put(bt_message_stream_end_create(iterator_, stream.stream.get()));
    }
}

void source::add_record(const waiting& from) {
    recording::record record = from.record;
    record.data = from.data;
    std::optional<eventheader::shown_event> described;
    if (record.event->is_described) {
        described.emplace(to_shown_event(record));
        tree_.fill(*described, payload_classes_.size() >= most_layouts);
        if (from.stack)
            tree_.add_text(recording::stack_field, *from.stack);
    }
    bt_event_class* const event_class =
        described ? class_of_payload(record, *described) : class_of_event(*record.event);
    stream& stream = stream_of(from);
    // The times of a damaged file may go back, which the format cannot express.
    stream.last = std::max(stream.last, from.record.time);
    if (stream.in_packet++ == packet_size)
        end_packet(stream);
    const bool is_behind_gap = stream.lost.has_value();
    if (is_behind_gap)
        put_gap(stream);
    if (!stream.packet)
        begin_packet(stream, stream.last);
    bt_message* const message = made(bt_message_event_create_with_packet_and_default_clock_snapshot(
        iterator_, event_class, stream.packet.get(), stream.last));
    put(message);
    bt_event* const event = bt_message_event_borrow_event(message);
    bt_field* const context = bt_event_borrow_common_context_field(event);
    const auto member = [&](std::uint64_t i) {
        return bt_field_structure_borrow_member_field_by_index(context, i);
    };
    bt_field_integer_signed_set_value(member(0), from.record.cpu);
    set_text(member(1), from.task);
    bt_field_integer_signed_set_value(member(2), from.record.pid);
    bt_field_integer_signed_set_value(member(3), from.record.tgid);
    set_text(member(4), from.instance);
    bt_field* const payload = bt_event_borrow_payload_field(event);
    if (described) {
        set_payload_header(bt_event_borrow_specific_context_field(event), *described);
        tree_.set(payload);
    } else {
        std::uint64_t i = 0;
        for (const recording::field& field : from.record.event->fields)
            set_field(bt_field_structure_borrow_member_field_by_index(payload, i++), field,
                      read(field, from.data));
    }
    if (is_behind_gap)
        end_packet(stream);
}

std::uint64_t source::next(bt_message_array_const messages, std::uint64_t capacity) {
    while (messages_.size() < capacity && !records.empty()) {
        if (records.front().record.event)
            add_record(records.front());
        else
            add_gap(records.front());
        records.pop_front();
    }
    if (is_last && records.empty() && !has_ended_) {
        end_streams();
        has_ended_ = true;
    }
    const std::uint64_t count = std::min<std::uint64_t>(capacity, messages_.size());
    for (std::uint64_t i = 0; i < count; i++) {
        messages[i] = messages_.front();
        messages_.pop_front();
    }
    return count;
}

// The methods.

bt_component_class_initialize_method_status initialize(bt_self_component_source* self,
                                                       bt_self_component_source_configuration*,
                                                       const bt_value*, void* data) {
    auto* const own = static_cast<source*>(data);
    bt_self_component_set_data(bt_self_component_source_as_self_component(self), own);
    try {
        own->initialize(self);
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
    } catch (...) {
        own->error = std::current_exception();
        return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR;
    }
}

source* source_of(bt_self_message_iterator* iterator) {
    return static_cast<source*>(
        bt_self_component_get_data(bt_self_message_iterator_borrow_component(iterator)));
}

bt_message_iterator_class_initialize_method_status
initialize_iterator(bt_self_message_iterator* iterator, bt_self_message_iterator_configuration*,
                    bt_self_component_port_output*) {
    source_of(iterator)->set_iterator(iterator);
    return BT_MESSAGE_ITERATOR_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

bt_message_iterator_class_next_method_status next(bt_self_message_iterator* iterator,
                                                  bt_message_array_const messages,
                                                  std::uint64_t capacity, std::uint64_t* count) {
    source* const own = source_of(iterator);
    try {
        *count = own->next(messages, capacity);
        if (*count > 0)
            return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK;
        return own->is_last ? BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END
                            : BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_AGAIN;
    } catch (...) {
        own->error = std::current_exception();
        return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_ERROR;
    }
}

class ctf_exporter final : public exporter {
public:
    explicit ctf_exporter(const options& options) : directory_(options.directory) {
        // The sandbox does not let the plugin be loaded later.
        const bt_plugin* found = nullptr;
        if (bt_plugin_find("ctf", BT_TRUE, BT_TRUE, BT_TRUE, BT_TRUE, BT_FALSE, &found) !=
            BT_PLUGIN_FIND_STATUS_OK)
            throw text::failure("the plugin ctf of libbabeltrace2 is missing",
                                "install the package libbabeltrace2-0");
        plugin_.reset(found);
    }

    void add(const recording::record& record) override {
        source_.records.push_back(
            {record,
             std::string(record.task),
             std::string(record.instance),
             {record.data.begin(), record.data.end()},
             record.event->is_described ? shown_stack(record) : std::nullopt});
        if (source_.records.size() == most_waiting)
            run();
    }

    void add_gap(const recording::gap& gap) override {
        const recording::record none{gap.time, gap.cpu, 0, 0, {}, {}, nullptr, {}};
        source_.records.push_back({none, {}, std::string(gap.instance), {}, {}, gap.lost});
    }

    void finish() override {
        source_.is_last = true;
        run();
        // The sink writes the metadata when it is destroyed.
        graph_.reset();
    }

private:
    /// The first records decide on the clock.
    void make_graph();
    void run();

    std::string directory_;
    owned<const bt_plugin, bt_plugin_put_ref> plugin_;
    source source_;
    owned<bt_graph, bt_graph_put_ref> graph_;
};

void ctf_exporter::make_graph() {
    const bt_component_class_sink* const sink_class =
        bt_plugin_borrow_sink_component_class_by_name_const(plugin_.get(), "fs");
    if (!sink_class)
        throw text::failure("libbabeltrace2 has no component sink.ctf.fs");

    const owned<bt_message_iterator_class, bt_message_iterator_class_put_ref> iterator_class(
        made(bt_message_iterator_class_create(next)));
    check(
        bt_message_iterator_class_set_initialize_method(iterator_class.get(), initialize_iterator),
        "set a method");
    const owned<bt_component_class_source, bt_component_class_source_put_ref> source_class(
        made(bt_component_class_source_create("recording", iterator_class.get())));
    check(bt_component_class_source_set_initialize_method(source_class.get(), initialize),
          "set a method");

    const owned<bt_value, bt_value_put_ref> parameters(made(bt_value_map_create()));
    // The sink makes the directory, and refuses one that exists.
    check(bt_value_map_insert_string_entry(parameters.get(), "path", output_directory::files),
          "set the path");
    check(bt_value_map_insert_bool_entry(parameters.get(), "assume-single-trace", BT_TRUE),
          "set a parameter");
    check(bt_value_map_insert_bool_entry(parameters.get(), "quiet", BT_TRUE), "set a parameter");
    // Before 2.1 there was only version 1, and the parameter is refused. See
    // babeltrace2-sink.ctf.fs(7).
    if (std::pair(bt_version_get_major(), bt_version_get_minor()) >= std::pair(2u, 1u))
        check(bt_value_map_insert_string_entry(parameters.get(), "ctf-version", "1"),
              "set the version");

    graph_.reset(made(bt_graph_create(0)));
    const bt_component_source* source = nullptr;
    const bt_component_sink* sink = nullptr;
    check(bt_graph_add_source_component_with_initialize_method_data(
              graph_.get(), source_class.get(), "recording", nullptr, &source_,
              BT_LOGGING_LEVEL_NONE, &source),
          "add the source");
    check(bt_graph_add_sink_component(graph_.get(), sink_class, "ctf", parameters.get(),
                                      BT_LOGGING_LEVEL_NONE, &sink),
          "add sink.ctf.fs");
    check(bt_graph_connect_ports(
              graph_.get(), bt_component_source_borrow_output_port_by_index_const(source, 0),
              bt_component_sink_borrow_input_port_by_index_const(sink, 0), nullptr),
          "connect the components");
}

void ctf_exporter::run() {
    if (!graph_)
        make_graph();
    const bt_graph_run_status status = bt_graph_run(graph_.get());
    if (source_.error)
        std::rethrow_exception(source_.error);
    if (status != BT_GRAPH_RUN_STATUS_OK && status != BT_GRAPH_RUN_STATUS_AGAIN)
        fail(fmt::format("write {}", directory_));
}

} // namespace

std::unique_ptr<exporter> make_ctf(const options& options) {
    return std::make_unique<ctf_exporter>(options);
}

} // namespace tool::exporting
