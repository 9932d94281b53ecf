// SPDX-License-Identifier: GPL-2.0-only
// BPF programs on user events: they run for each record and see its fields.
#include "perf.hpp"
#include "registered.hpp"

#include "child.hpp"
#include "tracing.hpp"
#include "user_events.hpp"

#include <catch2/catch.hpp>

#include <cstring>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/syscall.h>

using namespace selftest;

namespace {

Descriptor bpf(bpf_cmd command, bpf_attr& attributes, const std::string& what) {
    Descriptor result(static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof(attributes))));
    if (result.number() < 0)
        throw_errno(what);
    return result;
}

/// What a program leaves behind.
struct Seen {
    std::uint64_t sum = 0;
    std::uint64_t runs = 0;

    bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Seen& seen) {
    return stream << "sum " << seen.sum << ", runs " << seen.runs;
}

/// An array map of one element.
class SeenMap {
public:
    SeenMap() {
        bpf_attr attributes{};
        attributes.map_type = BPF_MAP_TYPE_ARRAY;
        attributes.key_size = sizeof(std::uint32_t);
        attributes.value_size = sizeof(Seen);
        attributes.max_entries = 1;
        map_ = bpf(BPF_MAP_CREATE, attributes, "BPF_MAP_CREATE");
    }

    int descriptor() const { return map_.number(); }

    Seen seen() const {
        const std::uint32_t key = 0;
        Seen value;
        bpf_attr attributes{};
        attributes.map_fd = static_cast<std::uint32_t>(map_.number());
        attributes.key = address_of(&key);
        attributes.value = address_of(&value);
        if (syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attributes, sizeof(attributes)) != 0)
            throw_errno("BPF_MAP_LOOKUP_ELEM");
        return value;
    }

private:
    Descriptor map_;
};

using Instructions = std::vector<bpf_insn>;

bpf_insn instruction(int code, int to, int from, int offset = 0, int immediate = 0) {
    bpf_insn result{};
    result.code = static_cast<std::uint8_t>(code);
    result.dst_reg = static_cast<std::uint8_t>(to & 0xf);
    result.src_reg = static_cast<std::uint8_t>(from & 0xf);
    result.off = static_cast<std::int16_t>(offset);
    result.imm = immediate;
    return result;
}

bpf_insn copy(int to, int from) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from);
}

bpf_insn set(int to, int value) {
    return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

bpf_insn add(int to, int value) {
    return instruction(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value);
}

/// Loads from where register `from` points at.
bpf_insn load(int width, int to, int from, int offset) {
    return instruction(BPF_LDX | BPF_MEM | width, to, from, offset);
}

bpf_insn call(int helper) {
    return instruction(BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

/// Loads a field of a record into register 7; register 6 points at the record.
Instructions load_field(const tep_format_field& field) {
    const int widths[] = {0, BPF_B, BPF_H, 0, BPF_W, 0, 0, 0, BPF_DW};
    return {load(widths[field.size], 7, 6, field.offset)};
}

/// Loads the eight bytes behind a location into register 7, as bpftrace reads strings.
Instructions load_located(const tep_format_field& field, bool relative) {
    Instructions program = {
        load(BPF_W, 7, 6, field.offset),
        instruction(BPF_ALU64 | BPF_AND | BPF_K, 7, 0, 0, 0xffff),
        copy(3, 6),
        instruction(BPF_ALU64 | BPF_ADD | BPF_X, 3, 7),
        copy(1, 10),
        add(1, -16),
        set(2, 8),
        call(BPF_FUNC_probe_read_kernel),
        load(BPF_DW, 7, 10, -16),
    };
    if (relative)
        program.insert(program.begin() + 4, add(3, field.offset + 4));
    return program;
}

/// A program that puts what `body` left in register 7 into the map's sum, counts its runs, and
/// returns `result`: 0 keeps the record from perf.
class Program {
public:
    Program(const SeenMap& map, const Instructions& body, int result = 1) {
        Instructions program = {copy(6, 1)};
        program.insert(program.end(), body.begin(), body.end());
        const bpf_insn rest[] = {
            instruction(BPF_ST | BPF_MEM | BPF_W, 10, 0, -4, 0),
            instruction(BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map.descriptor()),
            instruction(0, 0, 0),
            copy(2, 10),
            add(2, -4),
            call(BPF_FUNC_map_lookup_elem),
            instruction(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3, 0),
            instruction(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 7, 0, BPF_ADD),
            set(7, 1),
            instruction(BPF_STX | BPF_ATOMIC | BPF_DW, 0, 7, 8, BPF_ADD),
            set(0, result),
            instruction(BPF_JMP | BPF_EXIT, 0, 0),
        };
        program.insert(program.end(), std::begin(rest), std::end(rest));

        std::string log(1 << 16, '\0');
        bpf_attr attributes{};
        attributes.prog_type = BPF_PROG_TYPE_TRACEPOINT;
        attributes.insns = address_of(program.data());
        attributes.insn_cnt = static_cast<std::uint32_t>(program.size());
        attributes.license = address_of("GPL");
        attributes.log_buf = address_of(log.data());
        attributes.log_size = static_cast<std::uint32_t>(log.size());
        attributes.log_level = 1;
        program_ = Descriptor(
            static_cast<int>(syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof(attributes))));
        if (program_.number() < 0)
            throw_errno("BPF_PROG_LOAD: " + log.substr(0, log.find('\0')));
    }

    int descriptor() const { return program_.number(); }

private:
    Descriptor program_;
};

} // namespace

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
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(cpu, &only);
        return sched_setaffinity(0, sizeof(only), &only) == 0 &&
               registered.record(Payload().add(a)) == succeeds(8);
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
    const Program past(map, {load(BPF_W, 7, 6, 16)});
    CHECK(perf.attach_program(past.descriptor()) == fails(EACCES));
    const Program last(map, {load(BPF_W, 7, 6, 12)});
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
