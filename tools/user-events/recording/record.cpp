// SPDX-License-Identifier: GPL-2.0-or-later
#include "recording/record.hpp"

#include "eventheader/path.hpp"
#include "eventheader/show.hpp"
#include "eventheader/walk.hpp"
#include "text/errors.hpp"
#include "text/escape.hpp"
#include "text/json.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace tool::recording {

namespace {

constexpr std::uint64_t second = 1'000'000'000;

/// Appends a number with leading zeros.
template <std::size_t Digits>
void append_padded(std::string& to, std::uint64_t number) {
    std::array<char, Digits> text;
    for (std::size_t i = Digits; i-- > 0; number /= 10)
        text[i] = static_cast<char>('0' + number % 10);
    to.append(text.data(), Digits);
}

/// Appends date and time of day. Most records are of the same second as the one before.
void append_date(std::string& to, std::uint64_t seconds) {
    static std::uint64_t last = 0;
    static std::array<char, 32> text;
    static std::size_t length = 0;
    if (seconds != last) {
        const auto as_time = static_cast<std::time_t>(seconds);
        std::tm parts{};
        localtime_r(&as_time, &parts);
        length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
        last = seconds;
    }
    to.append(text.data(), length);
}

} // namespace

record_head to_head(bytes data, bool is_big_endian) noexcept {
    // u16 common_type, u8 common_flags, u8 common_preempt_count, s32 common_pid: the kernel's
    // struct trace_entry, which user programs rely on.
    if (data.size() < 8)
        return {-1, 0};
    return {static_cast<int>(read_number(data.data(), 2, false, is_big_endian)),
            static_cast<int>(read_number(data.data() + 4, 4, true, is_big_endian))};
}

void append_time(std::string& to, std::uint64_t time) {
    const std::uint64_t seconds = time / second;
    if (is_wall_clock(time)) {
        append_date(to, seconds);
    } else {
        const fmt::format_int digits(seconds);
        if (digits.size() < 6)
            to.append(6 - digits.size(), ' ');
        to.append(digits.data(), digits.size());
    }
    to += '.';
    append_padded<6>(to, time % second / 1000);
}

namespace {

void append_value(std::string& to, const field& field, const value& value) {
    if (value.kind == kind::text)
        text::append_quotable(to, value.text());
    else
        append_text(to, field, value);
}

bool is_shown(const event_type& type, const field& field) {
    return type.chosen.empty() ||
           std::find(type.chosen.begin(), type.chosen.end(), field.name) != type.chosen.end();
}

void append_fields(std::string& to, const record& record) {
    for (const field& field : record.event->fields) {
        // Lines below the record have it.
        if (field.place == place::at_end || !is_shown(*record.event, field))
            continue;
        to += ' ';
        text::append_escaped(to, field.name);
        to += '=';
        append_value(to, field, read(field, record.data));
    }
}

/// Calls the function with the name and the number. Elements of an array have the array's name, and
/// structs in arrays have no numbers in their names.
class numbers final : public eventheader::visitor {
public:
    using function = std::function<void(const std::string& name, double number)>;

    explicit numbers(const function& function) : function_(function) {}

    void take(const eventheader::field& field, const eventheader::value& value) override {
        if (const auto number = number_of(value))
            function_(path_.is_in_array() ? path_.text() : path_.of(field),
                      static_cast<double>(number->value()));
    }
    void begin_array(const eventheader::field& field) override { path_.begin_array(field); }
    void end_array(const eventheader::field&) override { path_.end(); }
    void begin_struct(const eventheader::field& field) override { path_.begin_struct(field); }
    void end_struct(const eventheader::field&) override { path_.end(); }

private:
    const function& function_;
    eventheader::path path_{false};
};

eventpipe::message to_message(const record& record) {
    const auto& fields = record.event->fields;
    return {static_cast<std::uint8_t>(read(fields[0], record.data).natural),
            static_cast<std::uint16_t>(read(fields[1], record.data).natural),
            read(fields[2], record.data).data, read(fields[3], record.data).data};
}

} // namespace

void describe(record& record, eventpipe::known_events& known) {
    if (record.event->is_described && record.event->is_eventpipe)
        record.description = known.find(record.process(), record.event->id, to_message(record));
}

eventheader::shown_event to_shown_event(const record& record) {
    if (record.event->is_eventpipe)
        return eventpipe::to_shown_event(record.event->registered_name(), to_message(record),
                                         record.description, record.event->chosen);
    const std::size_t offset =
        std::min<std::size_t>(record.event->fields.front().offset, record.data.size());
    return {record.event->registered_name(), record.event->parts,
            eventheader::to_event(record.data.subspan(offset), record.event->most_padding),
            record.event->chosen};
}

void append_seconds(std::string& to, std::uint64_t time) {
    text::append_json(to, time / second);
    to += '.';
    append_padded<9>(to, time % second);
}

void append_name(std::string& to, const record& record) {
    if (record.event->is_described)
        append_name(to, to_shown_event(record));
    else
        to += record.event->name;
}

std::string described_name(const record& record) {
    std::string result;
    if (record.event->is_described)
        eventheader::append_unescaped(result, name_of(to_shown_event(record).event));
    return result;
}

bool matches(const eventheader::event_pattern& pattern, const record& record) {
    return record.event->is_described &&
           pattern.matches_event(to_shown_event(record).name.provider, described_name(record));
}

void for_each_number(const record& record,
                     const std::function<void(const std::string& name, double number)>& function) {
    numbers numbers(function);
    walk(to_shown_event(record).event, numbers);
}

eventheader::filter to_filter(const std::string& text) {
    auto result = eventheader::filter::parse(text);
    if (!result)
        throw text::usage_error(fmt::format("the filter \"{}\" makes no sense", text),
                                "a filter compares fields: 'cents > 300 && item ~ \"co*\"'");
    return std::move(*result);
}

std::string to_kernel_filter(const std::string& text) {
    if (text.empty())
        return {};
    const auto filter = to_filter(text);
    if (filter.kernel_text().empty())
        throw text::usage_error(
            fmt::format("the kernel cannot apply the filter \"{}\": it has no =~, no !~ and no "
                        "fractions",
                        text),
            "`user-events watch` and `user-events report` can");
    return filter.kernel_text();
}

bool passes(eventheader::filter& filter, const record& record) {
    eventheader::origin origin{record.task, record.pid, record.cpu};
    origin.type = static_cast<std::uint16_t>(record.event->id);
    if (record.data.size() >= 4) {
        origin.flags = std::to_integer<std::uint8_t>(record.data[2]);
        origin.preempt_count = std::to_integer<std::uint8_t>(record.data[3]);
    }
    if (record.event->is_described)
        return filter.passes(to_shown_event(record), origin);
    filter.begin();
    std::string text;
    for (const field& field : record.event->fields) {
        if (!filter.compares(field.name))
            continue;
        const value value = read(field, record.data);
        if (value.kind == kind::absent)
            continue;
        if (value.kind == kind::integer) {
            filter.take(field.name, eventheader::number::of_integer(value.integer, field.size));
        } else if (value.kind == kind::natural) {
            filter.take(field.name, eventheader::number::of_natural(value.natural, field.size));
        } else if (value.kind == kind::real) {
            filter.take(field.name, eventheader::number::of_real(value.real));
        } else if (value.kind == kind::text) {
            // Not what is shown, which is escaped.
            filter.take(field.name, value.text());
        } else if (field.type.find("char[") != field.type.npos) {
            // To the kernel, an array of unsigned char is a text.
            const std::string_view whole = value.text();
            filter.take(field.name, whole.substr(0, whole.find('\0')));
        } else {
            text.clear();
            append_text(text, field, value);
            filter.take(field.name, text);
        }
    }
    return filter.end(origin);
}

void warn_of_unknown_fields(const eventheader::filter& filter) {
    for (const auto& name : filter.unknown_names())
        text::warn(fmt::format("none of the records had a field {}, which the filter names", name));
}

void append_line(std::string& to, const record& record) {
    append_time(to, record.time);
    if (!record.host.empty()) {
        to += ' ';
        text::append_escaped(to, record.host);
    }
    to += " [";
    fmt::format_to(std::back_inserter(to), "{:03}", record.cpu);
    to += "] ";
    const std::size_t start = to.size();
    text::append_escaped(to, record.task);
    to += '-';
    text::append_json(to, record.pid - record.distance);
    if (to.size() - start < 16)
        to.append(16 - (to.size() - start), ' ');
    to += ' ';
    if (!record.instance.empty()) {
        text::append_escaped(to, record.instance);
        to += ": ";
    }
    if (record.event->is_described) {
        append_line(to, to_shown_event(record));
    } else {
        text::append_escaped(to, record.event->name);
        to += ':';
        append_fields(to, record);
    }
    to += '\n';
    append_stack(to, record, "    => ", "\n");
}

void append_stack(std::string& to, const record& record, std::string_view before,
                  std::string_view behind) {
    if (!record.stack)
        return;
    for (const std::string& frame : *record.stack) {
        to += before;
        text::append_escaped(to, frame);
        to += behind;
    }
}

std::optional<std::string> shown_stack(const record& record) {
    if (!record.event->has_stack)
        return {};
    return record.stack ? folded(*record.stack) : std::string();
}

void append_json_stack(std::string& to, const stack& stack) {
    char separator = '[';
    for (const std::string& frame : stack) {
        to += std::exchange(separator, ',');
        text::append_json(to, frame);
    }
    to += separator == '[' ? "[]" : "]";
}

void append_json_fields(std::string& to, const record& record, bool with_stack) {
    if (record.event->is_described) {
        const std::size_t start = to.size();
        append_json_fields(to, to_shown_event(record));
        if (const auto stack = with_stack ? shown_stack(record) : std::nullopt;
            stack && to.find("\"stack\":", start) == to.npos) {
            to.pop_back();
            to += to.ends_with('{') ? "\"stack\":" : ",\"stack\":";
            text::append_json(to, *stack);
            to += '}';
        }
        return;
    }
    char separator = '{';
    for (const field& field : record.event->fields) {
        if ((field.place == place::at_end && !with_stack) || !is_shown(*record.event, field))
            continue;
        to += separator;
        separator = ',';
        text::append_json(to, field.name);
        to += ':';
        append_json(to, field, read(field, record.data));
    }
    to += separator == '{' ? "{}" : "}";
}

namespace {

/// The beginning of an object, for a record or a gap.
template <typename Place>
void append_json_place(std::string& to, const Place& of) {
    to += "{\"time\":";
    append_seconds(to, of.time);
    // Many readers of JSON have doubles, which are too small for these numbers.
    fmt::format_to(std::back_inserter(to), ",\"time_ns\":\"{}\"", of.time);
    if (!of.host.empty()) {
        to += ",\"host\":";
        text::append_json(to, of.host);
    }
    to += ",\"cpu\":";
    text::append_json(to, of.cpu);
}

void append_json_instance(std::string& to, std::string_view instance) {
    if (instance.empty())
        return;
    to += ",\"instance\":";
    text::append_json(to, instance);
}

} // namespace

void append_json_line(std::string& to, const gap& gap) {
    append_json_place(to, gap);
    append_json_instance(to, gap.instance);
    to += ",\"since\":";
    append_seconds(to, gap.since);
    to += ",\"lost\":";
    to += gap.lost ? std::to_string(gap.lost) : "null";
    to += "}\n";
}

void append_json_line(std::string& to, const record& record) {
    append_json_place(to, record);
    to += ",\"task\":";
    text::append_json(to, record.task);
    to += ",\"pid\":";
    text::append_json(to, record.pid - record.distance);
    if (record.tgid) {
        to += ",\"tgid\":";
        text::append_json(to, record.tgid - record.distance);
    }
    append_json_instance(to, record.instance);
    to += ",\"system\":";
    text::append_json(to, record.event->system);
    if (record.event->is_described) {
        append_json_members(to, to_shown_event(record));
    } else {
        to += ",\"event\":";
        text::append_json(to, record.event->name);
        to += ",\"fields\":";
        append_json_fields(to, record, false);
    }
    if (record.stack) {
        to += ",\"stack\":";
        append_json_stack(to, *record.stack);
    }
    to += "}\n";
}

} // namespace tool::recording
