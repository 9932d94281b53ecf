// SPDX-License-Identifier: GPL-2.0-or-later
#include "eventheader/encodings.hpp"

#include <iterator>

namespace tool::eventheader {

namespace {

constexpr encoding encodings[] = {
    {shape::unknown, 0, meaning::none, false},   // 0
    {shape::structure, 0, meaning::none, false}, // 1
    {shape::fixed, 1, meaning::natural, false},  // 2
    {shape::fixed, 2, meaning::natural, false},  // 3
    {shape::fixed, 4, meaning::natural, false},  // 4
    {shape::fixed, 8, meaning::natural, false},  // 5
    {shape::fixed, 16, meaning::bytes, false},   // 6
    {shape::terminated, 1, meaning::utf, false}, // 7
    {shape::terminated, 2, meaning::utf, false}, // 8
    {shape::terminated, 4, meaning::utf, false}, // 9
    {shape::counted, 1, meaning::utf, true},     // 10
    {shape::counted, 2, meaning::utf, false},    // 11
    {shape::counted, 4, meaning::utf, false},    // 12
    {shape::counted, 1, meaning::bytes, true},   // 13
};

/// A set of sizes, as bits: 1 << 4 for 4 bytes.
using sizes = std::uint32_t;
constexpr sizes any_size = 0;
constexpr sizes numbers = 1U << 1 | 1U << 2 | 1U << 4 | 1U << 8;

struct format {
    eventheader::meaning meaning;
    /// Those that a value may have.
    eventheader::sizes sizes;
};

constexpr format formats[] = {
    {meaning::none, any_size},                     // 0
    {meaning::natural, numbers},                   // 1
    {meaning::integer, numbers},                   // 2
    {meaning::hexadecimal, numbers},               // 3
    {meaning::error_number, 1U << 4},              // 4
    {meaning::process, 1U << 4},                   // 5
    {meaning::time, 1U << 4 | 1U << 8},            // 6
    {meaning::truth, 1U << 1 | 1U << 2 | 1U << 4}, // 7
    {meaning::real, 1U << 4 | 1U << 8},            // 8
    {meaning::bytes, any_size},                    // 9
    {meaning::latin1, any_size},                   // 10
    {meaning::utf, any_size},                      // 11
    {meaning::marked_utf, any_size},               // 12
    {meaning::marked_utf, any_size},               // 13: XML
    {meaning::marked_utf, any_size},               // 14: JSON
    {meaning::uuid, 1U << 16},                     // 15
    {meaning::port, 1U << 2},                      // 16
    {meaning::address, 1U << 4 | 1U << 16},        // 17
    {meaning::address, 1U << 4 | 1U << 16},        // 18
};

bool has(sizes set, std::size_t size) noexcept {
    return size < 32 && (set >> size & 1U);
}

/// A single character is a number of at most 32 bits, and has no byte order mark. Latin-1 in larger
/// units is what UTF is there.
meaning text_meaning(const encoding& encoding, meaning text) noexcept {
    if (encoding.unit > 4)
        return encoding.usual;
    const bool has_no_mark = text == meaning::marked_utf && encoding.shape == shape::fixed;
    const bool is_wide = text == meaning::latin1 && encoding.unit > 1;
    return has_no_mark || is_wide ? meaning::utf : text;
}

} // namespace

const encoding& encoding_of(std::uint8_t number) noexcept {
    return encodings[number < std::size(encodings) ? number : 0];
}

meaning meaning_of(const encoding& encoding, std::uint8_t format, std::size_t size) noexcept {
    const auto& [meaning, sizes] = formats[format < std::size(formats) ? format : 0];
    if (is_text(meaning))
        return text_meaning(encoding, meaning);
    if (sizes == any_size)
        return meaning == meaning::none ? encoding.usual : meaning;
    if (encoding.is_nullable && size == 0)
        return meaning::null;
    const bool may_be_fixed = encoding.shape == shape::fixed || encoding.is_nullable;
    return may_be_fixed && has(sizes, size) ? meaning : encoding.usual;
}

} // namespace tool::eventheader
