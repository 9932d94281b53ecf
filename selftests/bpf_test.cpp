// SPDX-License-Identifier: GPL-2.0-only
// BPF programs on user events: they run for each record and see its fields.
#include "bpf.hpp"
#include "perf.hpp"
#include "registered.hpp"

#include "child.hpp"
#include "on_cpu.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <cstring>

using namespace selftest;

TEST_CASE("A program runs for each record and sees its field") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const SeenMap map;
    const Program program(map, load_field(format.field("a")));
    CHECK(registered.word == 0);
    PerfEvent perf(perf_attributes(registered.event));
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    CHECK(registered.word == 1);
    CHECK(registered.status() == " # Used by perf");
    CHECK(map.seen() == Seen{0, 0});
    for (std::uint32_t a = 1; a <= 100; a++)
        REQUIRE(registered.record(Payload().add(a)) == succeeds(8));
    CHECK(map.seen() == Seen{5050, 100});
    CHECK(perf.count() == 100);

    perf.close();
    CHECK(registered.word == 0);
    CHECK(registered.status().empty());
    CHECK(registered.record(Payload().add(1u)) == fails(EBADF));
    CHECK(map.seen() == Seen{5050, 100});
}

TEST_CASE("A program sees fields of every size") {
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
    // As unsigned numbers: so the instructions load them.
    const Case cases[] = {
        {"a", 0xfffffffffffffffb}, {"b", 200}, {"c", 0xff}, {"d", 60000}, {"e", 0xfffffffe},
        {"f", 0x0102030405060708}, {"g", 'c'},
    };
    for (const Case& test : cases) {
        CAPTURE(test.field);
        const SeenMap map;
        const tep_format_field& field = format.field(test.field);
        const Program program(map, load_field(field));
        PerfEvent perf(perf_attributes(registered.event));
        REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
        REQUIRE(registered.record(payload) == succeeds(4 + 25));
        CHECK(map.seen() == Seen{test.value, 1});
    }
}

TEST_CASE("A program reads strings behind locations") {
    Registered registered(" u32 a; __rel_loc char[] near; __data_loc char[] far");
    const Format format(registered.event);
    const SeenMap near, far;
    const Program near_program(near, load_located(format.field("near"), true));
    const Program far_program(far, load_located(format.field("far"), false));
    PerfEvent near_perf(perf_attributes(registered.event)),
        far_perf(perf_attributes(registered.event));
    REQUIRE(near_perf.attach_program(near_program.descriptor()) == succeeds());
    REQUIRE(far_perf.attach_program(far_program.descriptor()) == succeeds());
    // The strings stand at 12 and 20: 4 behind the end of the first location, and in the record
    // at 20 and 28.
    REQUIRE(registered.record(Payload()
                                  .add(1u)
                                  .add<std::uint32_t>(DYN_LOC(4, 8))
                                  .add<std::uint32_t>(DYN_LOC(28, 8))
                                  .add_string("1234567")
                                  .add_string("abcdefg")) == succeeds(4 + 28));
    const auto number = [](const char* text) {
        std::uint64_t value;
        std::memcpy(&value, text, sizeof(value));
        return value;
    };
    CHECK(near.seen() == Seen{number("1234567"), 1});
    CHECK(far.seen() == Seen{number("abcdefg"), 1});
}

TEST_CASE("A program runs for records of every process and CPU, whomever perf counts") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const SeenMap map;
    const Program program(map, load_field(format.field("a")));
    PerfEvent perf(perf_attributes(registered.event), -1, 0);
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    const auto record = [&](int cpu, std::uint32_t a) {
        const OnCpu on_cpu(cpu);
        return registered.record(Payload().add(a)) == succeeds(8);
    };
    for (int cpu : {0, 1})
        CHECK(in_child([&] { return record(cpu, 10u + static_cast<unsigned>(cpu)) ? 0 : 1; }) == 0);
    CHECK(map.seen() == Seen{21, 2});
    CHECK(perf.count() == 1);
}

TEST_CASE("A program that returns 0 keeps the record from perf, not from ftrace") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const int result = GENERATE(0, 1);
    CAPTURE(result);
    const SeenMap map;
    const Program program(map, load_field(format.field("a")), result);
    Instance instance;
    REQUIRE(instance.enable(registered.event) == succeeds());
    PerfEvent perf(perf_sampling(registered.event));
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    CHECK(registered.record(Payload().add(7u)) == succeeds(8));
    CHECK(map.seen() == Seen{7, 1});
    CHECK(perf.samples().size() == static_cast<std::size_t>(result));
    CHECK(instance.records().size() == 1);
    CHECK(registered.status() == " # Used by ftrace perf");
    REQUIRE(instance.disable(registered.event) == succeeds());
}

TEST_CASE("A link holds the program on the event, and the bit, until it is closed") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const SeenMap map;
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
    CHECK(map.seen() == Seen{3, 1});
    link.close();
    CHECK(registered.word == 0);
    CHECK(registered.record(Payload().add(3u)) == fails(EBADF));
}

TEST_CASE("A program that reads past the fields is not attached") {
    Registered registered(" u32 a; u32 b");
    const SeenMap map;
    PerfEvent perf(perf_attributes(registered.event));
    const Program past(map, load_at(BPF_W, 16));
    CHECK(perf.attach_program(past.descriptor()) == fails(EACCES));
    const Program last(map, load_at(BPF_W, 12));
    CHECK(perf.attach_program(last.descriptor()) == succeeds());
    CHECK(registered.record(Payload().add(1u).add(2u)) == succeeds(12));
    CHECK(map.seen() == Seen{2, 1});
}

TEST_CASE("A payload that is too large for BPF alone is E2BIG") {
    Registered registered(" u32 a");
    const Format format(registered.event);
    const SeenMap map;
    const Program program(map, load_field(format.field("a")));
    PerfEvent perf(perf_attributes(registered.event));
    REQUIRE(perf.attach_program(program.descriptor()) == succeeds());
    CHECK(registered.record(Payload().add(5u).add_characters(std::string(8000, 'x'))) ==
          succeeds(8008));
    CHECK(registered.record(Payload().add(5u).add_characters(std::string(9000, 'x'))) ==
          fails(E2BIG));
    CHECK(map.seen() == Seen{5, 1});
}
