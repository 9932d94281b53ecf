// SPDX-License-Identifier: GPL-2.0-or-later
// What a shell may offer for a word of the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// The place of a word.
struct place {
    /// What --help calls it: PATTERN, FILE ...
    std::string kind;
    /// The words before it that are neither commands nor options.
    std::vector<std::string> before;
};

/// The candidates that begin with the word. `:files` and `:commands` mean that the shell knows
/// them. Empty if nothing can be said, also because this user may not look at tracefs.
std::vector<std::string> candidates(const place& of, const std::string& word);

/// Removes the candidates that do not begin with the word, and those with control characters.
std::vector<std::string> fitting(std::vector<std::string> candidates, std::string_view word);

} // namespace tool
