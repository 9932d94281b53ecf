// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tool::recording {

/// Makes a filter of the kernel one of libtraceevent, which has regular expressions instead of
/// globs: `item ~ "co*"` becomes `item =~ "^co.*$"`.
std::string to_library_filter(std::string_view filter);

/// The names that a filter compares with something.
std::vector<std::string> fields_of(std::string_view filter);

} // namespace tool::recording
