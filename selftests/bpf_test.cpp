// SPDX-License-Identifier: GPL-2.0-only
// BPF programs attached to user events: they run for each record and can read its fields.
#include "bpf.hpp"
#include "catch.hpp"
#include "perf.hpp"
#include "registered.hpp"

#include "child.hpp"
#include "on_cpu.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <cstring>

using namespace selftest;

TEST_CASE("Attaching a BPF program sets the enable bit, and the program runs for each record") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const TotalsMap map;
    const Program program(map, load_field(format.field("a")));
    CHECK(registered.word == 0);
    PerfEvent perf(perf_attributes(registered.event));
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    CHECK(registered.word == 1);
    CHECK(registered.status() == " # Used by perf");
    CHECK(map.totals() == Totals{0, 0});
    for (std::uint32_t a = 1; a <= 100; a++)
        REQUIRE(registered.record(Payload().add(a)) == succeeds(8));
    CHECK(map.totals() == Totals{5050, 100});
    CHECK(perf.count() == 100);

    perf.close();
    CHECK(registered.word == 0);
    CHECK(registered.status().empty());
    CHECK(registered.record(Payload().add(1u)) == fails(EBADF));
    CHECK(map.totals() == Totals{5050, 100});
}

TEST_CASE("A BPF program reads fields of every size") {
    Registered registered(" s64 a; u8 b; s8 c; u16 d; s32 e; u64 f; char g");
    const Format format(registered.event);
    const Payload payload = Payload()
                                .add<std::int64_t>(-5)
                                .add<std::uint8_t>(200)
                                .add<std::int8_t>(-1)
                                .add<std::uint16_t>(60000)
                                .add<std::int32_t>(-2)
                                .add<std::uint64_t>(0x0102030405060708)
                                .add('c');
    struct Case {
        const char* field;
        std::uint64_t value;
    };
    // BPF load instructions zero-extend: negative fields become large unsigned values.
    const Case cases[] = {
        {"a", 0xfffffffffffffffb}, {"b", 200}, {"c", 0xff}, {"d", 60000}, {"e", 0xfffffffe},
        {"f", 0x0102030405060708}, {"g", 'c'},
    };
    for (const Case& test : cases) {
        CAPTURE(test.field);
        const TotalsMap map;
        const tep_format_field& field = format.field(test.field);
        const Program program(map, load_field(field));
        PerfEvent perf(perf_attributes(registered.event));
        REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
        REQUIRE(registered.record(payload) == succeeds(4 + 25));
        CHECK(map.totals() == Totals{test.value, 1});
    }
}

TEST_CASE("A BPF program reads strings behind __rel_loc and __data_loc fields") {
    Registered registered(" u32 a; __rel_loc char[] near; __data_loc char[] far");
    const Format format(registered.event);
    const TotalsMap near, far;
    const Program near_program(near, load_location_data(format.field("near"), true));
    const Program far_program(far, load_location_data(format.field("far"), false));
    PerfEvent near_perf(perf_attributes(registered.event)),
        far_perf(perf_attributes(registered.event));
    REQUIRE(near_perf.attach_program(near_program.descriptor()) == succeeds());
    REQUIRE(far_perf.attach_program(far_program.descriptor()) == succeeds());
    // The strings are at payload offsets 12 and 20. __rel_loc counts from the end of the location,
    // which is at 8; __data_loc counts from the start of the record, 8 bytes before the payload.
    REQUIRE(registered.record(Payload()
                                  .add(1u)
                                  .add(location(4, 8))
                                  .add(location(28, 8))
                                  .add_string("1234567")
                                  .add_string("abcdefg")) == succeeds(4 + 28));
    const auto number = [](const char* text) {
        std::uint64_t value;
        std::memcpy(&value, text, sizeof(value));
        return value;
    };
    CHECK(near.totals() == Totals{number("1234567"), 1});
    CHECK(far.totals() == Totals{number("abcdefg"), 1});
}

TEST_CASE("A BPF program runs for records of all CPUs, even if its perf event counts one CPU") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const TotalsMap map;
    const Program program(map, load_field(format.field("a")));
    PerfEvent perf(perf_attributes(registered.event), -1, 0);
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    const auto record = [&](int cpu, std::uint32_t a) {
        const OnCpu on_cpu(cpu);
        return registered.record(Payload().add(a)) == succeeds(8);
    };
    for (int cpu : {0, 1})
        CHECK(in_child([&] { return record(cpu, 10u + static_cast<unsigned>(cpu)) ? 0 : 1; }) == 0);
    CHECK(map.totals() == Totals{21, 2});
    CHECK(perf.count() == 1);
}

TEST_CASE("A BPF program that returns 0 hides the record from perf but not from ftrace") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const int result = GENERATE(0, 1);
    CAPTURE(result);
    const TotalsMap map;
    const Program program(map, load_field(format.field("a")), result);
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    PerfEvent perf(perf_sampling(registered.event));
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    CHECK(registered.record(Payload().add(7u)) == succeeds(8));
    CHECK(map.totals() == Totals{7, 1});
    CHECK(perf.samples().size() == static_cast<std::size_t>(result));
    CHECK(instance.records().size() == 1);
    CHECK(registered.status() == " # Used by ftrace perf");
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("A BPF link keeps the program attached and the bit set until the link is closed") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const TotalsMap map;
    Descriptor link;
    {
        const Program program(map, load_field(format.field("a")));
        const PerfEvent perf(perf_attributes(registered.event));
        bpf_attr attributes{};
        attributes.link_create.prog_fd = static_cast<std::uint32_t>(program.descriptor());
        attributes.link_create.target_fd = static_cast<std::uint32_t>(perf.descriptor());
        attributes.link_create.attach_type = BPF_PERF_EVENT;
        link = bpf(BPF_LINK_CREATE, attributes, "BPF_LINK_CREATE");
    }
    CHECK(registered.word == 1);
    CHECK(registered.record(Payload().add(3u)) == succeeds(8));
    CHECK(map.totals() == Totals{3, 1});
    link.close();
    CHECK(registered.word == 0);
    CHECK(registered.record(Payload().add(3u)) == fails(EBADF));
}

TEST_CASE("Attaching a BPF program that reads past the last field fails with EACCES") {
    Registered registered(" u32 a; u32 b");
    const TotalsMap map;
    PerfEvent perf(perf_attributes(registered.event));
    const Program reads_past_end(map, load_at(BPF_W, 16));
    CHECK(perf.attach_program(reads_past_end.descriptor()) == fails(EACCES));
    const Program reads_last_field(map, load_at(BPF_W, 12));
    CHECK(perf.attach_program(reads_last_field.descriptor()) == succeeds());
    CHECK(registered.record(Payload().add(1u).add(2u)) == succeeds(12));
    CHECK(map.totals() == Totals{2, 1});
}

TEST_CASE("Writing a payload that is too large for BPF, the only recorder, fails with E2BIG") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const TotalsMap map;
    const Program program(map, load_field(format.field("a")));
    PerfEvent perf(perf_attributes(registered.event));
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    CHECK(registered.record(Payload().add(5u).add_characters(std::string(8000, 'x'))) ==
          succeeds(8008));
    CHECK(registered.record(Payload().add(5u).add_characters(std::string(9000, 'x'))) ==
          fails(E2BIG));
    CHECK(map.totals() == Totals{5, 1});
}

// BPF programs belong to the event: one also gets what a program writes without a look at its bit.
TEST_CASE("A BPF program on a perf event of one process gets its records, and other bits stay 0") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const TotalsMap map;
    const Program program(map, load_field(format.field("a")));
    // Both inherit the registration. When they are told a value, they write it if their bit is 1.
    const auto body = [&](Channel& channel) {
        for (std::uint32_t a = 0; (a = channel.receive<std::uint32_t>()) != 0;) {
            const std::uint32_t bit = registered.word.load();
            if (bit)
                registered.record(Payload().add(a));
            channel.send(bit);
        }
        return 0;
    };
    Child target(body), other(body);
    const auto record = [](Child& child, std::uint32_t a) {
        return child.channel().ask<std::uint32_t>(a);
    };
    PerfEvent perf(perf_attributes(registered.event), target.pid());
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    CHECK(record(target, 5) == 1);
    CHECK(record(other, 7) == 0);
    CHECK(map.totals() == Totals{5, 1});
    CHECK(registered.word == 0);
    perf.close();
    CHECK(record(target, 9) == 0);
    CHECK(map.totals() == Totals{5, 1});
    for (Child* child : {&target, &other}) {
        child->channel().send(std::uint32_t{0});
        CHECK(child->wait() == 0);
    }
}
