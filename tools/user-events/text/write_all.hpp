// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string_view>

namespace tool::text {

/// Writes a text to a descriptor, however many calls that takes. Returns false and sets errno if
/// not all of it was written.
bool write_all(int descriptor, std::string_view text) noexcept;

} // namespace tool::text
