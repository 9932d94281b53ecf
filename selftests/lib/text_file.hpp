// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace selftest {

/// Returns the contents of a file. Throws std::system_error.
std::string read_text(const std::string& path);

/// Writes a text with one write() to a file opened with O_WRONLY and `flags`. Returns the failure
/// of open, write or close, or the number of bytes written.
Outcome write_text(const std::string& path, std::string_view text, int flags = 0);

/// Writes a line to a file that takes commands. A success has the value 0.
Outcome write_line(const std::string& path, const std::string& line);

/// Returns whether a path exists.
bool exists(const std::string& path);

/// Splits a text into lines, without the newlines.
std::vector<std::string> lines_of(const std::string& text);

/// Returns whether one of a text's lines equals `line`.
bool has_line(const std::string& text, std::string_view line);

} // namespace selftest
