// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/exposition.hpp"

#include "text/escape.hpp"

#include <cstring>
#include <fmt/format.h>
#include <iterator>

namespace tool::metrics {

namespace {

/// The program, or the name, of records that have no count of their own.
constexpr char others[] = "(others)";

/// A label's value, in UTF-8, with its quotes.
std::string label_value(std::string_view text) {
    std::string result = "\"";
    for (const char each : text::to_utf8(text)) {
        if (each == '"' || each == '\\' || each == '\n')
            result += '\\';
        result += each == '\n' ? 'n' : each;
    }
    return result += '"';
}

class writer {
public:
    explicit writer(format as) : as_(as) {}

    bool is_open_metrics() const noexcept { return as_ == format::open_metrics; }

    /// The metrics of one name follow.
    void family(const char* name, const char* type, const char* help) {
        name_ = name;
        is_counter_ = std::strcmp(type, "counter") == 0;
        // OpenMetrics leaves out the suffix of the metrics.
        const char* const suffix = is_counter_ && !is_open_metrics() ? "_total" : "";
        fmt::format_to(std::back_inserter(text_), "# HELP {0}{1} {2}\n# TYPE {0}{1} {3}\n", name,
                       suffix, help, type);
    }

    template <typename Number>
    void add(const std::string& labels, Number number, const char* suffix = "") {
        fmt::format_to(std::back_inserter(text_), "{}{}{}{} {}\n", name_,
                       is_counter_ ? "_total" : suffix, labels.empty() ? "" : "{" + labels,
                       labels.empty() ? "" : "}", number);
    }

    std::string finish() {
        if (is_open_metrics())
            text_ += "# EOF\n";
        return std::move(text_);
    }

private:
    format as_;
    const char* name_ = "";
    bool is_counter_ = false;
    std::string text_;
};

/// A bucket for each power of two that the field can have. Later ones would look like new series.
void add_histogram(writer& to, const std::string& labels, const distribution& from) {
    std::uint64_t below = 0;
    for (unsigned power = 0; power < 64 && power <= from.bits - from.is_signed; power++) {
        if (const auto found = from.counts.find(power); found != from.counts.end())
            below += found->second;
        to.add(fmt::format("{},le=\"{}.0\"", labels, std::uint64_t{1} << power), below, "_bucket");
    }
    if (const auto found = from.counts.find(64); found != from.counts.end())
        below += found->second;
    to.add(labels + ",le=\"+Inf\"", below, "_bucket");
    // A sum that falls is no counter. OpenMetrics has a count only if there is a sum.
    if (!from.has_negative || !to.is_open_metrics())
        to.add(labels, below, "_count");
    if (!from.has_negative)
        to.add(labels, from.sum, "_sum");
}

void add_events(writer& to, const sample& from) {
    to.family("user_events_records", "counter", "Records, by the program that made them.");
    for (const auto& [name, event] : from.events) {
        const std::string label = "event=" + label_value(name);
        auto records = event.records;
        // Also if there are none, so that a rate begins at 0.
        records[others] += event.others;
        for (const auto& [program, count] : records)
            to.add(fmt::format("{},program={}", label, label_value(program)), count);
    }
    if (from.has_lost) {
        to.family("user_events_lost_records", "counter",
                  "Records that recorders of the event have lost.");
        for (const auto& [name, event] : from.events)
            to.add("event=" + label_value(name), event.lost);
    }
    to.family("user_events_recorders", "gauge",
              "Instances in which the event is enabled, and perf.");
    for (const auto& [name, event] : from.events)
        to.add("event=" + label_value(name), event.recorders);
}

void add_names(writer& to, const sample& from) {
    if (from.names.empty())
        return;
    to.family("user_events_named_records", "counter",
              "Records of EventHeader events, by the names in their payloads.");
    for (const auto& [tracepoint, counts] : from.names) {
        const std::string label = "tracepoint=" + label_value(tracepoint);
        for (const auto& [name, count] : counts.records)
            to.add(fmt::format("{},event={}", label, label_value(name)), count);
        to.add(fmt::format("{},event={}", label, label_value(others)), counts.others);
    }
}

void add_fields(writer& to, const sample& from) {
    to.family("user_events_field", "histogram", "Values of a field, by powers of two.");
    for (const auto& [name, event] : from.events)
        for (const auto& [field, values] : event.fields)
            add_histogram(to,
                          fmt::format("event={},field={}", label_value(name), label_value(field)),
                          values);
}

} // namespace

format format_for(std::string_view accept) {
    return accept.find("application/openmetrics-text") == accept.npos ? format::text
                                                                      : format::open_metrics;
}

const char* content_type(format of) {
    return of == format::text ? "text/plain; version=0.0.4; charset=utf-8"
                              : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

std::string to_exposition(const sample& from, format as) {
    writer to(as);
    add_events(to, from);
    add_names(to, from);
    add_fields(to, from);
    to.family("user_events_registered", "gauge", "User events of the group default that exist.");
    to.add("", from.registered);
    if (from.most) {
        to.family("user_events_max", "gauge", "User events of the group default that can exist.");
        to.add("", from.most);
    }
    to.family("user_events_not_counted", "gauge",
              "User events over the limit of --events, whose records are not counted.");
    to.add("", from.not_counted);
    return to.finish();
}

} // namespace tool::metrics
