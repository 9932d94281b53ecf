// SPDX-License-Identifier: GPL-2.0-only
// The programs of howto/migrate.rst record what they say.
#include "catch.hpp"

#include <user_events/eventheader.hpp>
#include <user_events/testing.hpp>
#include <user_events/user_events.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

// NOLINTBEGIN(bugprone-suspicious-include): the programs themselves.
namespace lttng {
#define main run
#include "../../../samples/migration/lttng.cpp"
} // namespace lttng
namespace usdt {
#include "../../../samples/migration/usdt.cpp"
} // namespace usdt
namespace linuxtracepoints {
#include "../../../samples/migration/linuxtracepoints.cpp"
} // namespace linuxtracepoints
namespace perfetto {
#include "../../../samples/migration/perfetto.cpp"
#undef main
} // namespace perfetto
// NOLINTEND(bugprone-suspicious-include)

namespace ue = user_events;

namespace {

char program[] = "program", path[] = "/index", wrong[] = "index";
char* arguments[] = {program, path, wrong, nullptr};

std::string printed(const ue::testing::sink& sink) {
    std::string all;
    for (const auto& each : sink.records())
        all += each.print() + '\n';
    return all;
}

} // namespace

TEST_CASE("The converted program of LTTng-UST records its tracepoint") {
    const ue::testing::sink sink;
    lttng::run(2, arguments);
    const std::string begin = "hello_world_my_first_tracepoint: my_string_field=";
    CHECK(printed(sink) ==
          begin + "hi there! my_integer_field=23\n" + begin + "program my_integer_field=0\n" +
              begin + "/index my_integer_field=1\n" + begin + "letters my_integer_field=7\n");
}

TEST_CASE("The converted program with USDT probes records them") {
    const ue::testing::sink sink;
    usdt::run(3, arguments);
    CHECK(printed(sink) == "server_request_start: number=1 path=/index\n"
                           "server_request_headers: headers=Host: localhost, Path: /index\n"
                           "server_request_done: number=1 status=200\n"
                           "server_request_start: number=2 path=index\n"
                           "server_request_headers: headers=Host: localhost, Path: index\n"
                           "server_request_done: number=2 status=400\n");
}

TEST_CASE("The converted program of LinuxTracepoints records its events") {
    const ue::testing::sink sink;
    linuxtracepoints::run(1, arguments);
    CHECK(sink.records("MyCompany_MyComponent_L4K1").size() == 1);
    CHECK(sink.records("MyCompany_MyComponent_L5K2").size() == 2);
}

TEST_CASE("The converted program of Perfetto records slices, a flow, a counter and arguments") {
    const ue::testing::sink sink;
    perfetto::run();
    std::string slices;
    std::uint64_t frame = 0;
    for (const auto& each : sink.records("rendering")) {
        slices += static_cast<char>(*each.get<char>("track_event_type"));
        slices += *each.get<std::string>("slice_name") + ' ';
        const auto flow = *each.get<std::uint64_t>("flow_id");
        const bool has_flow = *each.get<std::string>("slice_name") == "DrawGame" ||
                              *each.get<std::string>("slice_name") == "Flip";
        CHECK((flow != 0) == has_flow);
        if (has_flow && frame)
            CHECK(flow == frame);
        frame = flow ? flow : frame;
    }
    CHECK(slices == "BDrawGame BDrawPlayer E BDrawPlayer E E BFlip E ");
    CHECK(sink.records("Framerate")[0].get<double>("counter_value") == 59.9);
    CHECK(sink.records("player").size() == 2);
    CHECK(sink.records("network").size() == 2);
}
