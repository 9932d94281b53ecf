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

/// Runs a bpf() command that creates a descriptor, and returns it. Throws std::system_error, with
/// `what`, on failure.
Descriptor bpf(bpf_cmd command, bpf_attr& attributes, const std::string& what);

/// The values that a Program adds up in its map.
struct Totals {
    std::uint64_t sum = 0;
    std::uint64_t runs = 0;

    bool operator==(const Totals&) const = default;
};

std::ostream& operator<<(std::ostream& stream, const Totals& totals);

/// A BPF array map of one element, which a Program updates.
class TotalsMap {
public:
    /// Throws std::system_error if the kernel cannot create the map.
    TotalsMap();

    int descriptor() const { return map_.number(); }
    /// Reads the element. Throws std::system_error.
    Totals totals() const;

private:
    Descriptor map_;
};

using Instructions = std::vector<bpf_insn>;

/// Returns code that loads a field of a record into register 7. All such
/// code expects the address of the record in register 6.
Instructions load_field(const tep_format_field& field);

/// Returns code that loads the first eight bytes of a dynamic field's data into register 7, the way
/// bpftrace reads strings. `relative`: the field is a __rel_loc.
Instructions load_location_data(const tep_format_field& field, bool relative);

/// Returns code that loads `width` (BPF_B to BPF_DW) bytes at `offset` in the record into
/// register 7.
Instructions load_at(int width, int offset);

/// Returns code that loads the sum of two fields of the same size into register 7.
Instructions load_sum(const tep_format_field& first, const tep_format_field& second);

/// A loaded BPF program. It runs `body`, adds register 7 to the map's sum, counts the run, and
/// returns `result`: with 0, perf does not get the record.
class Program {
public:
    /// Throws std::system_error, with the verifier's log, if the kernel rejects the program.
    Program(const TotalsMap& map, const Instructions& body, int result = 1);

    int descriptor() const { return program_.number(); }

private:
    Descriptor program_;
};

} // namespace selftest
