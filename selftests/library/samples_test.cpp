// SPDX-License-Identifier: GPL-2.0-only
// The samples run, and their events are recorded. selftests/run adds them to the guest.
#include "catch.hpp"
#include "child.hpp"
#include "tool.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <cerrno>
#include <cstdlib>
#include <set>
#include <unistd.h>

using namespace selftest;

namespace {

/// An event that exists before the sample registers it, so that all its records are seen.
struct Known {
    explicit Known(const std::string& name, const std::string& fields)
        : event(name), definition("dynamic_events", "u:" + name + " " + fields, "-:" + name) {
        expect(instance.enable(event), "enable " + name);
    }
    ~Known() { instance.disable(event); }

    Event event;
    Definition definition;
    Instance instance;
};

} // namespace

TEST_CASE("The order service records its orders, from several threads",
          "[sample:order_service][sample:beacon_daemon][sample:tick][sample:plugin_host]"
          "[sample:plugin.so][sample:thread_pool][sample:workers]") {
    Known placed("order_placed", "u32 number;u8 size;__rel_loc char[] item");
    Known served("order_served", "u32 number;s64 waited");
    Known work("order_work", "char track_event_type;__data_loc char[] slice_name;"
                             "__data_loc char[] track_name");
    Known length("order_queue", "s64 counter_value;__data_loc char[] track_name");
    const TemporaryDirectory directory;
    output_of(directory, "order_service 20");
    const auto orders = placed.instance.records();
    REQUIRE(orders.size() == 20);
    CHECK(orders[0].number("number") == 1);
    CHECK(orders[0].text("item") == "coffee");
    CHECK(orders[2].number("size") == 1);
    const auto all = served.instance.records();
    CHECK(all.size() == 20);
    std::set<long long> cooks;
    for (const Record& record : all) {
        CHECK(record.number("waited") > 0);
        cooks.insert(record.pid());
    }
    CHECK(cooks.size() > 1);
    const auto slices = work.instance.records();
    CHECK(slices.size() == 40);
    CHECK(slices[0].number("track_event_type") == 'B');
    CHECK(slices[0].text("slice_name") == "cook");
    const auto lengths = length.instance.records();
    CHECK(lengths.size() == 40);
    CHECK(lengths.back().number("counter_value") == 0);
    CHECK(lengths.back().text("track_name") == "order_queue");
}

TEST_CASE("The daemon records its beacons after it has closed all descriptors") {
    Known beacon("beacon", "u32 number");
    const TemporaryDirectory directory;
    output_of(directory, "beacon_daemon 5");
    const auto records = beacon.instance.records();
    REQUIRE(records.size() == 5);
    CHECK(records[4].number("number") == 5);
}

TEST_CASE("The C program records its event") {
    Known tick("tick", "u32 count; __rel_loc char[] text");
    const TemporaryDirectory directory;
    output_of(directory, "tick 3");
    const auto records = tick.instance.records();
    REQUIRE(records.size() == 3);
    CHECK(records[2].number("count") == 3);
    CHECK(records[2].text("text") == "tock");
}

TEST_CASE("The program of the user guide records the size of each file", "[sample:file_size]") {
    Known size("file_size", "u64 size; s32 error; __rel_loc char[] path");
    const TemporaryDirectory directory;
    output_of(directory, "printf '12345' >five; printf 'five\n/none\n' | file_size");
    const auto records = size.instance.records();
    REQUIRE(records.size() == 2);
    CHECK(records[0].number("size") == 5);
    CHECK(records[0].text("path") == "five");
    CHECK(records[1].number("error") == ENOENT);
}

TEST_CASE("A program with the set-user-ID bit ignores the variables of the environment") {
    Known tick("tick", "u32 count; __rel_loc char[] text");
    const TemporaryDirectory directory;
    const std::string program = directory.file("tick");
    output_of(directory, "cp $(command -v tick) " + program + " && chmod 4755 " + program);
    const auto run_with = [&](const char* variable, const char* value) {
        return in_child([&] {
            become_user(unprivileged_uid);
            setenv(variable, value, 1);
            execl(program.c_str(), "tick", "3", nullptr);
            return errno;
        });
    };
    CHECK(run_with("USER_EVENTS", "off") == 0);
    CHECK(tick.instance.records().size() == 3);
    CHECK(run_with("USER_EVENTS_FILE", "/dev/null") == 0);
    CHECK(tick.instance.records().size() == 3);
}

TEST_CASE("A plug-in records its event each time it is loaded, and can be unloaded") {
    Known greets("plugin_greets", "__rel_loc char[] name");
    Known loads("host_loads", "__rel_loc char[] file");
    const TemporaryDirectory directory;
    output_of(directory, "plugin_host /usr/bin/plugin.so 3");
    CHECK(loads.instance.records().size() == 3);
    const auto records = greets.instance.records();
    REQUIRE(records.size() == 3);
    CHECK(records[2].text("name") == "world");
}

TEST_CASE("Coroutines of a thread pool record slices that begin and end in different threads") {
    Known served("pool_served", "u32 number;u64 result");
    Known requests("pool_requests", "char track_event_type;__data_loc char[] slice_name;"
                                    "__data_loc char[] track_name;u64 scope_id");
    const TemporaryDirectory directory;
    output_of(directory, "thread_pool");
    CHECK(served.instance.records().size() == 20);
    CHECK(requests.instance.records().size() == 40);
}

TEST_CASE("Workers of a C program record in a sandbox") {
    Known jobs("worker_job", "u32 worker;u64 result;__rel_loc char[] what");
    Known slices("worker_slices", "char track_event_type;__data_loc char[] slice_name;"
                                  "__data_loc char[] track_name");
    const TemporaryDirectory directory;
    output_of(directory, "workers 2 5");
    const auto records = jobs.instance.records();
    REQUIRE(records.size() == 10);
    for (const Record& record : records)
        CHECK(record.text("what") == (record.number("result") % 2 ? "odd" : "even"));
    const auto all = slices.instance.records();
    REQUIRE(all.size() == 20);
    CHECK(all[0].text("slice_name") == "square");
}
