// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "tracing.hpp"

#include <cstdint>
#include <linux/bpf.h>
#include <ostream>
#include <string>
#include <vector>

namespace selftest {

/// A command of bpf() that makes a descriptor. Throws std::system_error where it fails.
Descriptor bpf(bpf_cmd command, bpf_attr& attributes, const std::string& what);

/// What a program leaves behind.
struct Seen {
    std::uint64_t sum = 0;
    std::uint64_t runs = 0;

    bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Seen& seen);

/// An array map of one element.
class SeenMap {
public:
    SeenMap();

    int descriptor() const { return map_.number(); }
    Seen seen() const;

private:
    Descriptor map_;
};

using Instructions = std::vector<bpf_insn>;

/// Loads a field of a record into register 7; register 6 points at the record.
Instructions load_field(const tep_format_field& field);

/// Loads the eight bytes behind a location into register 7, as bpftrace reads strings.
Instructions load_located(const tep_format_field& field, bool relative);

/// Loads a number from the record's bytes at `offset` into register 7; the width is BPF_B to
/// BPF_DW.
Instructions load_at(int width, int offset);

/// Loads the sum of two fields of the same size into register 7.
Instructions load_sum(const tep_format_field& first, const tep_format_field& second);

/// A program that puts what `body` left in register 7 into the map's sum, counts its runs, and
/// returns `result`: 0 keeps the record from perf.
class Program {
public:
    Program(const SeenMap& map, const Instructions& body, int result = 1);

    int descriptor() const { return program_.number(); }

private:
    Descriptor program_;
};

} // namespace selftest
