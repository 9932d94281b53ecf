// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/encoder.hpp"

#include "otlp/batch.hpp"
#include "otlp/json.hpp"
#include "otlp/resources.hpp"
#include "tracing/wall_clock.hpp"

#include <fmt/format.h>
#include <memory>

namespace tool::otlp {

namespace {

constexpr int cumulative = 2;
constexpr int warning = 13;

std::uint64_t count_in(const drop_counts& counts, const std::string& why) {
    const auto found = counts.find(why);
    return found == counts.end() ? 0 : found->second;
}

std::string log_record(const std::string& why, std::uint64_t count, std::uint64_t now) {
    message::LogRecord log;
    log.set_time_unix_nano(now);
    log.set_observed_time_unix_nano(now);
    log.set_severity_number(warning);
    log.set_severity_text("warning");
    log.set_event_name("user_events.dropped");
    log.mutable_body()->set_string_value(fmt::format("{} records were dropped: {}", count, why));
    attributes attributes(*log.mutable_attributes());
    attributes.add("reason", why);
    attributes.add("count", static_cast<std::int64_t>(count));
    return log.SerializeAsString();
}

std::string logs_of(const drop_report& report, resources& known, std::uint64_t now) {
    batch made(known);
    for (const auto& [why, count] : report.drops)
        if (const auto before = count_in(report.reported, why); count > before)
            made.add("", log_record(why, count - before, now), 0);
    return made.take();
}

std::string metrics_of(const drop_report& report, resources& known, std::uint64_t now) {
    message::ExportMetricsServiceRequest request;
    auto& resource = *request.add_resource_metrics();
    *resource.mutable_resource() = known.own();
    auto& scope = *resource.add_scope_metrics();
    scope.mutable_scope()->set_name(scope_name);
    auto& metric = *scope.add_metrics();
    metric.set_name("user_events.dropped");
    metric.set_description("Records that were not shipped, by the reason.");
    metric.set_unit("{record}");
    metric.mutable_sum()->set_aggregation_temporality(cumulative);
    metric.mutable_sum()->set_is_monotonic(true);
    for (const auto& [why, count] : report.drops) {
        auto& point = *metric.mutable_sum()->add_data_points();
        point.set_start_time_unix_nano(report.since);
        point.set_time_unix_nano(now);
        point.set_as_int(static_cast<std::int64_t>(count));
        attributes(*point.mutable_attributes()).add("reason", why);
    }
    return request.SerializeAsString();
}

} // namespace

queue::report_maker report_maker(encoding as) {
    const auto known =
        std::make_shared<resources>(std::map<std::string, std::string>(), false, std::string());
    return [as, known](const drop_report& report) {
        const auto now = static_cast<std::uint64_t>(tracing::nanoseconds(CLOCK_REALTIME));
        const std::string request = report.signal == signal::metrics
                                        ? metrics_of(report, *known, now)
                                        : logs_of(report, *known, now);
        return as == encoding::json ? to_json(report.signal, request) : request;
    };
}

} // namespace tool::otlp
