// SPDX-License-Identifier: GPL-2.0-only
// A program that writes events in the way of LinuxTracepoints.
//
//	eventheader_client [COUNT [NAME]]
//	eventheader_client names COUNT
//	eventheader_client samples
//
// For each of COUNT requests, a start and a stop of one activity, and an event RequestDone, or
// NAME. With `names`, so many events with different names. With `samples`, an event for each
// encoding and format, alone and in arrays; prints what their members `fields` and `tags` in JSON
// are, without quotes.
#include "eventheader/payload.hpp"
#include "eventheader/samples.hpp"
#include "eventheader/tracepoint.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace eventheader_test;

constexpr int info = 0, start = 1, stop = 2;

payload request(const std::string& activity, int opcode, const std::string& name) {
    payload result;
    result.opcode = opcode;
    result.level = opcode == info ? 4 : 5;
    return result.name(name).extension(2, activity);
}

void write_requests(int count, const std::string& name) {
    const tracepoint information("MyProvider_L4K1"), verbose("MyProvider_L5K2");
    for (int i = 0; i < count; i++) {
        const std::string activity(16, static_cast<char>(i + 1));
        verbose.write(request(activity, start, "Request").bytes());
        information.write(request(activity, info, name)
                              .field("status", half)
                              .field("http", structure, 2)
                              .field("verb", string)
                              .field("path", string)
                              .value(i % 2 ? 503 : 200, 2)
                              .value(terminated("GET"))
                              .value(terminated("/tea"))
                              .bytes());
        verbose.write(request(activity, stop, "Request").bytes());
    }
}

void write_names(int count) {
    const tracepoint information("MyProvider_L4K1");
    for (int i = 0; i < count; i++)
        information.write(payload().name("Name" + std::to_string(i)).bytes());
}

std::string without_control_characters(std::string_view text) {
    std::string result;
    for (const char c : text) {
        char escaped[8];
        std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(c));
        result += static_cast<unsigned char>(c) < ' ' ? std::string(escaped) : std::string(1, c);
    }
    return result;
}

std::string members_of(const std::string& value, const array_kind& kind) {
    const std::string each = without_control_characters(value);
    std::string all = kind.length < 0 ? each : "[";
    for (int i = 0; i < kind.length; i++)
        all += (i ? "," : "") + each;
    all = "fields:{f:" + all + (kind.length < 0 ? "" : "]") + ",end:7}";
    if (kind.extras.tag < 0)
        return all;
    char tag[32];
    std::snprintf(tag, sizeof(tag), ",tags:{f:0x%X}", static_cast<unsigned>(kind.extras.tag));
    return all + tag;
}

void write_samples() {
    const tracepoint all("Samples_L5K1");
    for_each_sample(
        [&](const sample& sample, int format, const array_kind& kind, const std::string& value) {
            all.write(payload_of(sample, format, kind));
            std::puts(members_of(value, kind).c_str());
        });
}

} // namespace

int main(int argc, char* argv[]) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "samples")
        write_samples();
    else if (what == "names" && argc > 2)
        write_names(std::atoi(argv[2]));
    else
        write_requests(argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? argv[2] : "RequestDone");
}
