// SPDX-License-Identifier: GPL-2.0-or-later
#include "otlp/json.hpp"

#include "text/errors.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include <google/protobuf/util/json_util.h>
#include <otlp/opentelemetry.pb.h>

namespace tool::otlp {

namespace message = ::user_events::otlp;

namespace {

/// OTLP has these as hexadecimal digits in JSON, unlike other bytes.
void to_hexadecimal(nlohmann::ordered_json& in, const char* key) {
    const auto found = in.find(key);
    if (found == in.end())
        return;
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string result;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char each : found->get<std::string>()) {
        const auto value = digits.find(each);
        if (value == digits.npos)
            break;
        bits = bits << 6 | static_cast<std::uint32_t>(value);
        if (count += 6; count >= 8) {
            count -= 8;
            fmt::format_to(std::back_inserter(result), "{:02x}", bits >> count & 0xff);
        }
    }
    *found = result;
}

void fix_identifiers(nlohmann::ordered_json& in, const char* resources, const char* scopes,
                     const char* items) {
    if (!in.contains(resources))
        return;
    for (auto& resource : in[resources])
        for (auto& scope : resource[scopes])
            for (auto& item : scope[items])
                for (const char* const key : {"traceId", "spanId", "parentSpanId"})
                    to_hexadecimal(item, key);
}

std::unique_ptr<google::protobuf::Message> request_of(signal which) {
    switch (which) {
    case signal::logs:
        return std::make_unique<message::ExportLogsServiceRequest>();
    case signal::traces:
        return std::make_unique<message::ExportTraceServiceRequest>();
    case signal::metrics:
        break;
    }
    return std::make_unique<message::ExportMetricsServiceRequest>();
}

} // namespace

std::string to_json(signal which, const std::string& serialized) {
    const auto request = request_of(which);
    google::protobuf::util::JsonPrintOptions options;
    options.always_print_enums_as_ints = true;
    std::string text;
    if (!request->ParseFromString(serialized) ||
        !MessageToJsonString(*request, &text, options).ok())
        throw text::failure("protobuf cannot write JSON");
    auto document = nlohmann::ordered_json::parse(text);
    fix_identifiers(document, "resourceLogs", "scopeLogs", "logRecords");
    fix_identifiers(document, "resourceSpans", "scopeSpans", "spans");
    return document.dump();
}

} // namespace tool::otlp
