// SPDX-License-Identifier: GPL-2.0-or-later
// The name of a tracepoint: `Provider_L4K1f` with options behind it, such as `Gmygroup`.
#pragma once

#include <cstdint>
#include <string_view>

namespace tool::eventheader {

struct tracepoint_name {
    /// The whole name if it is not of this form. The other members are then 0 and empty.
    std::string_view provider = {};
    std::uint64_t keyword = 0;
    std::uint8_t level = 0;
    /// Whether the name is of this form.
    bool is_complete = false;
    /// All options, as they are: a capital letter each, with digits and small letters behind it.
    std::string_view options = {};
};

/// Takes a name apart. The result refers to the name.
tracepoint_name to_tracepoint_name(std::string_view name) noexcept;

/// The provider's group, or an empty text.
std::string_view group_of(const tracepoint_name& name) noexcept;

} // namespace tool::eventheader
