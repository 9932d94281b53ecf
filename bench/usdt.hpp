// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

namespace bench {

/// A USDT probe in this program, from the ELF note that sys/sdt.h makes.
struct UsdtProbe {
    /// The offset of its instruction in the file.
    std::uint64_t offset;
    /// Where its arguments are, for example "8@%rbx -4@%eax".
    std::string arguments;
};

/// Throws std::runtime_error unless the program has the probe in one place.
UsdtProbe find_usdt_probe(const std::string& provider, const std::string& name);

/// Returns the register of argument `index`, with the name that tracefs uses. Throws
/// std::runtime_error if it is not in a register.
std::string register_of(const UsdtProbe& probe, unsigned index);

} // namespace bench
