// SPDX-License-Identifier: GPL-2.0-only
#include "bpf.hpp"

#include "user_events.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace selftest {

namespace {

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

/// Loads from the memory that register `from` points to.
bpf_insn load(int width, int to, int from, int offset) {
    return instruction(BPF_LDX | BPF_MEM | width, to, from, offset);
}

bpf_insn call(int helper) {
    return instruction(BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

int width_of(const tep_format_field& field) {
    const int widths[] = {0, BPF_B, BPF_H, 0, BPF_W, 0, 0, 0, BPF_DW};
    return widths[field.size];
}

} // namespace

Descriptor bpf(bpf_cmd command, bpf_attr& attributes, const std::string& what) {
    Descriptor result(static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof(attributes))));
    if (result.number() < 0)
        throw_errno(what);
    return result;
}

std::ostream& operator<<(std::ostream& stream, const Totals& totals) {
    return stream << "sum " << totals.sum << ", runs " << totals.runs;
}

TotalsMap::TotalsMap() {
    bpf_attr attributes{};
    attributes.map_type = BPF_MAP_TYPE_ARRAY;
    attributes.key_size = sizeof(std::uint32_t);
    attributes.value_size = sizeof(Totals);
    attributes.max_entries = 1;
    map_ = bpf(BPF_MAP_CREATE, attributes, "BPF_MAP_CREATE");
}

Totals TotalsMap::totals() const {
    const std::uint32_t key = 0;
    Totals value;
    bpf_attr attributes{};
    attributes.map_fd = static_cast<std::uint32_t>(map_.number());
    attributes.key = address_of(&key);
    attributes.value = address_of(&value);
    if (syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attributes, sizeof(attributes)) != 0)
        throw_errno("BPF_MAP_LOOKUP_ELEM");
    return value;
}

Instructions load_field(const tep_format_field& field) {
    return {load(width_of(field), 7, 6, field.offset)};
}

Instructions load_location_data(const tep_format_field& field, bool relative) {
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

Instructions load_at(int width, int offset) {
    return {load(width, 7, 6, offset)};
}

Instructions load_sum(const tep_format_field& first, const tep_format_field& second) {
    return {load(width_of(first), 7, 6, first.offset), load(width_of(second), 8, 6, second.offset),
            instruction(BPF_ALU64 | BPF_ADD | BPF_X, 7, 8)};
}

Program::Program(const TotalsMap& map, const Instructions& body, int result) {
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

} // namespace selftest
