// SPDX-License-Identifier: GPL-2.0-or-later
// The patterns that users give: `*`, `?` and sets of characters in brackets, as glob(7) has them.
#pragma once

#include <fnmatch.h>
#include <string>
#include <string_view>

namespace tool::text {

/// The characters with a meaning in a pattern; behind a `\`, each stands for itself.
/// Also ue_rule_prefix_length() in kernel/format/rule_parse.c.
inline constexpr std::string_view glob_characters = "*?[\\";

/// Whether all of a name fits the pattern.
inline bool is_glob_of(const std::string& pattern, std::string_view name) {
    return fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
}

} // namespace tool::text
