// SPDX-License-Identifier: GPL-2.0-or-later
// A number, as it is compared.
#pragma once

#include <cstdint>

namespace tool::eventheader {

/// An integer of 1 to 8 bytes, or a real number, which has the size 0.
struct number {
    std::uint64_t bits = 0; // of an integer, with its sign extended
    unsigned size = 0;
    bool is_signed = false;
    double real = 0;

    static number of_integer(std::int64_t value, unsigned size = 8) noexcept {
        return {static_cast<std::uint64_t>(value), size, true};
    }
    static number of_natural(std::uint64_t value, unsigned size = 8) noexcept {
        return {value, size, false};
    }
    static number of_real(double value) noexcept { return {.real = value}; }

    bool is_real() const noexcept { return size == 0; }
    /// A long double has all the digits of 64 bits.
    long double value() const noexcept {
        return is_real()   ? real
               : is_signed ? static_cast<long double>(static_cast<std::int64_t>(bits))
                           : static_cast<long double>(bits);
    }
};

} // namespace tool::eventheader
