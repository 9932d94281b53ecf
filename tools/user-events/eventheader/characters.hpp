// SPDX-License-Identifier: GPL-2.0-or-later
// The text of a value, as UTF-8.
#pragma once

#include "eventheader/value.hpp"

#include <string>

namespace tool::eventheader {

/// Appends the text of a value whose meaning is_text(). What is no character becomes U+FFFD, but
/// text in units of one byte that is not UTF-8 is read as Latin-1.
void append_text(std::string& to, const value& value);

} // namespace tool::eventheader
