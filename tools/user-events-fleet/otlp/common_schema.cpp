// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/common_schema.hpp"

#include "text/escape.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <ctime>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tool::otlp {

namespace {

constexpr std::string_view part_c = "PartC.";
/// Programs write names of services, which requests have once for each.
constexpr std::size_t longest_service = 256;
constexpr int most_severe = 24;

/// Takes so many digits from the front.
bool take_digits(std::string_view& from, std::size_t count, int& to) {
    if (from.size() < count)
        return false;
    const auto [at, error] = std::from_chars(from.data(), from.data() + count, to);
    if (error != std::errc() || at != from.data() + count || from[0] == '-')
        return false;
    from.remove_prefix(count);
    return true;
}

bool take(std::string_view& from, std::string_view one_of) {
    if (from.empty() || one_of.find(from[0]) == one_of.npos)
        return false;
    from.remove_prefix(1);
    return true;
}

/// `.123456789`: the digits behind the ninth do not count.
bool take_fraction(std::string_view& from, std::uint64_t& nanoseconds) {
    nanoseconds = 0;
    if (!take(from, "."))
        return true;
    std::uint64_t unit = 100'000'000;
    std::size_t digits = 0;
    for (; digits < from.size() && from[digits] >= '0' && from[digits] <= '9'; digits++) {
        nanoseconds += unit * static_cast<std::uint64_t>(from[digits] - '0');
        unit /= 10;
    }
    from.remove_prefix(digits);
    return digits > 0;
}

/// `Z`, `+02:00`. Minutes.
bool take_zone(std::string_view& from, int& minutes) {
    minutes = 0;
    if (take(from, "Zz"))
        return true;
    const int sign = from.starts_with('-') ? -1 : 1;
    int hour = 0, minute = 0;
    if (!take(from, "+-") || !take_digits(from, 2, hour) || !take(from, ":") ||
        !take_digits(from, 2, minute) || hour > 23 || minute > 59)
        return false;
    minutes = sign * (hour * 60 + minute);
    return true;
}

/// `2033-05-18T03:33:20.5Z`, as RFC 3339 has it, from 1970 to 2553, as nanoseconds since 1970.
std::optional<std::uint64_t> to_time(std::string_view text) {
    std::tm parts{};
    std::uint64_t fraction = 0;
    int zone = 0;
    const bool is_time = take_digits(text, 4, parts.tm_year) && take(text, "-") &&
                         take_digits(text, 2, parts.tm_mon) && take(text, "-") &&
                         take_digits(text, 2, parts.tm_mday) && take(text, "Tt ") &&
                         take_digits(text, 2, parts.tm_hour) && take(text, ":") &&
                         take_digits(text, 2, parts.tm_min) && take(text, ":") &&
                         take_digits(text, 2, parts.tm_sec) && take_fraction(text, fraction) &&
                         take_zone(text, zone) && text.empty() && parts.tm_year >= 1970 &&
                         parts.tm_year <= 2553 && parts.tm_mon >= 1 && parts.tm_mon <= 12 &&
                         parts.tm_mday >= 1 && parts.tm_mday <= 31 && parts.tm_hour <= 23 &&
                         parts.tm_min <= 59 && parts.tm_sec <= 60;
    if (!is_time)
        return {};
    parts.tm_year -= 1900;
    parts.tm_mon--;
    const int day = parts.tm_mday;
    const bool is_leap_second = parts.tm_sec == 60;
    const std::time_t seconds = timegm(&parts) - std::time_t{60} * zone;
    // There is no 30th of February.
    if (seconds < 0 || (parts.tm_mday != day && !is_leap_second))
        return {};
    return static_cast<std::uint64_t>(seconds) * 1'000'000'000 + fraction;
}

/// The bytes of hexadecimal digits.
std::optional<std::string> to_bytes(std::string_view digits, std::size_t size) {
    return digits.size() == 2 * size ? text::from_hexadecimal(digits) : std::nullopt;
}

bool is_zero(const std::string& bytes) {
    return bytes.find_first_not_of('\0') == bytes.npos;
}

/// A piece of the schema: what to do with the value of an attribute. Returns false if the value
/// makes no sense there.
template <typename To>
struct rule {
    std::string_view name;
    bool (*use)(message::AnyValue& value, To& to);
};

template <typename Use>
bool set_time(const message::AnyValue& value, Use use) {
    const auto time = to_time(value.string_value());
    if (time)
        use(*time);
    return time.has_value();
}

/// Nothing and zeros are no identifier.
bool set_identifier(const message::AnyValue& value, std::size_t size, std::string& to) {
    if (value.has_string_value() && value.string_value().empty())
        return true;
    auto bytes = to_bytes(value.string_value(), size);
    if (bytes && !is_zero(*bytes))
        to = std::move(*bytes);
    return bytes.has_value();
}

bool set_service(message::AnyValue& value, std::string& to) {
    const std::string& text = value.string_value();
    if (text.empty() || text.size() > longest_service || text.find('\0') != text.npos)
        return false;
    to = std::move(*value.mutable_string_value());
    return true;
}

bool set_text(message::AnyValue& value, std::string& to) {
    if (!value.string_value().empty())
        to = std::move(*value.mutable_string_value());
    return value.has_string_value();
}

bool is_any(message::AnyValue& /*value*/, auto& /*to*/) {
    return true;
}

struct log_parts {
    message::LogRecord& log;
    otlp::service service = {};
};

struct span_parts {
    message::Span& span;
    otlp::service service = {};
};

constexpr rule<log_parts> log_rules[] = {
    {"__csver__", is_any},
    {"PartA.time",
     [](message::AnyValue& value, log_parts& to) {
         return set_time(value, [&](std::uint64_t time) { to.log.set_time_unix_nano(time); });
     }},
    // An exporter writes PartA before PartB, whose name counts.
    {"PartA.name", [](message::AnyValue& value,
                      log_parts& to) { return set_text(value, *to.log.mutable_event_name()); }},
    {"PartA.ext_dt_traceId",
     [](message::AnyValue& value, log_parts& to) {
         return set_identifier(value, 16, *to.log.mutable_trace_id());
     }},
    {"PartA.ext_dt_spanId",
     [](message::AnyValue& value, log_parts& to) {
         return set_identifier(value, 8, *to.log.mutable_span_id());
     }},
    {"PartA.ext_dt_traceFlags",
     [](message::AnyValue& value, log_parts& to) {
         if (!value.has_int_value() || value.int_value() < 0 || value.int_value() > 0xff)
             return false;
         to.log.set_flags(static_cast<std::uint32_t>(value.int_value()));
         return true;
     }},
    {"PartA.ext_cloud_role",
     [](message::AnyValue& value, log_parts& to) { return set_service(value, to.service.name); }},
    {"PartA.ext_cloud_roleInstance",
     [](message::AnyValue& value, log_parts& to) {
         return set_service(value, to.service.instance);
     }},
    {"PartB._typeName", is_any},
    {"PartB.name", [](message::AnyValue& value,
                      log_parts& to) { return set_text(value, *to.log.mutable_event_name()); }},
    {"PartB.severityNumber",
     [](message::AnyValue& value, log_parts& to) {
         if (!value.has_int_value() || value.int_value() < 0)
             return false;
         to.log.set_severity_number(
             static_cast<int>(std::min<std::int64_t>(value.int_value(), most_severe)));
         return true;
     }},
    {"PartB.severityText",
     [](message::AnyValue& value, log_parts& to) {
         return set_text(value, *to.log.mutable_severity_text());
     }},
    {"PartB.body",
     [](message::AnyValue& value, log_parts& to) {
         to.log.mutable_body()->Swap(&value);
         return true;
     }},
};

/// OTLP counts from 1: internal, server, client, producer, consumer.
constexpr std::int64_t most_kind = 4;
constexpr int status_error = 2;

constexpr rule<span_parts> span_rules[] = {
    {"__csver__", is_any},
    {"PartA.time",
     [](message::AnyValue& value, span_parts& to) {
         return set_time(value, [&](std::uint64_t time) { to.span.set_end_time_unix_nano(time); });
     }},
    {"PartA.name", is_any},
    {"PartA.ext_dt_traceId",
     [](message::AnyValue& value, span_parts& to) {
         return set_identifier(value, 16, *to.span.mutable_trace_id());
     }},
    {"PartA.ext_dt_spanId",
     [](message::AnyValue& value, span_parts& to) {
         return set_identifier(value, 8, *to.span.mutable_span_id());
     }},
    {"PartA.ext_cloud_role",
     [](message::AnyValue& value, span_parts& to) { return set_service(value, to.service.name); }},
    {"PartA.ext_cloud_roleInstance",
     [](message::AnyValue& value, span_parts& to) {
         return set_service(value, to.service.instance);
     }},
    {"PartB._typeName", is_any},
    {"PartB.name", [](message::AnyValue& value,
                      span_parts& to) { return set_text(value, *to.span.mutable_name()); }},
    {"PartB.parentId",
     [](message::AnyValue& value, span_parts& to) {
         return set_identifier(value, 8, *to.span.mutable_parent_span_id());
     }},
    {"PartB.startTime",
     [](message::AnyValue& value, span_parts& to) {
         return set_time(value,
                         [&](std::uint64_t time) { to.span.set_start_time_unix_nano(time); });
     }},
    {"PartB.kind",
     [](message::AnyValue& value, span_parts& to) {
         if (!value.has_int_value() || value.int_value() < 0 || value.int_value() > most_kind)
             return false;
         to.span.set_kind(static_cast<int>(value.int_value()) + 1);
         return true;
     }},
    {"PartB.success",
     [](message::AnyValue& value, span_parts& to) {
         if (value.has_bool_value() && !value.bool_value())
             to.span.mutable_status()->set_code(status_error);
         return value.has_bool_value();
     }},
    {"PartB.statusMessage",
     [](message::AnyValue& value, span_parts& to) {
         return set_text(value, *to.span.mutable_status()->mutable_message());
     }},
};

/// Gives attributes the names that the program gave them, if no other one has the name.
void shorten_names(attribute_list& of) {
    std::vector<std::string_view> others;
    for (message::KeyValue& each : of) {
        if (each.key() == "PartB.eventId")
            each.set_key("eventId");
        if (!each.key().starts_with(part_c))
            others.push_back(each.key());
    }
    for (message::KeyValue& each : of) {
        if (!each.key().starts_with(part_c))
            continue;
        const std::string name = each.key().substr(part_c.size());
        if (std::find(others.begin(), others.end(), name) == others.end())
            each.set_key(is_of_origin(name) ? "field." + name : name);
    }
}

template <typename To, std::size_t Count>
void apply(const rule<To> (&rules)[Count], attribute_list& from, To& to) {
    int kept = 0;
    for (int i = 0; i < from.size(); i++) {
        message::KeyValue& each = *from.Mutable(i);
        const auto* const found =
            std::find_if(std::begin(rules), std::end(rules),
                         [&](const auto& rule) { return rule.name == each.key(); });
        if (found != std::end(rules) && found->use(*each.mutable_value(), to))
            continue;
        from.SwapElements(i, kept++);
    }
    while (from.size() > kept)
        from.RemoveLast();
    shorten_names(from);
}

const message::KeyValue* find(const attribute_list& in, std::string_view name) {
    const auto found =
        std::find_if(in.begin(), in.end(), [&](const auto& each) { return each.key() == name; });
    return found == in.end() ? nullptr : &*found;
}

} // namespace

bool may_have_schema(const attribute_list& from) {
    return !from.empty() && from.Get(0).key() == "__csver__";
}

schema schema_of(const attribute_list& from) {
    if (!may_have_schema(from) || (from.Get(0).value().int_value() & ~std::int64_t{0xff}) != 0x400)
        return schema::none;
    const auto* const type = find(from, "PartB._typeName");
    // Some exporters write logs without it.
    if (!type || type->value().string_value() == "Log")
        return schema::log;
    // Without them, it is no span.
    const auto has_identifier = [&](std::string_view name, std::size_t size) {
        const auto* const found = find(from, name);
        const auto bytes = found ? to_bytes(found->value().string_value(), size) : std::nullopt;
        return bytes && !is_zero(*bytes);
    };
    const auto has_time = [&](std::string_view name) {
        const auto* const found = find(from, name);
        return found && to_time(found->value().string_value());
    };
    return type->value().string_value() == "Span" && has_identifier("PartA.ext_dt_traceId", 16) &&
                   has_identifier("PartA.ext_dt_spanId", 8) && has_time("PartA.time") &&
                   has_time("PartB.startTime")
               ? schema::span
               : schema::none;
}

service promote(message::LogRecord& of) {
    log_parts parts{of};
    apply(log_rules, *of.mutable_attributes(), parts);
    return parts.service;
}

service promote(attribute_list& from, message::Span& to) {
    span_parts parts{to};
    apply(span_rules, from, parts);
    to.mutable_attributes()->Swap(&from);
    return parts.service;
}

} // namespace tool::otlp
