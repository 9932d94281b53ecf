// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace selftest {

/// All of a file, or a thrown std::system_error.
std::string read_text(const std::string& path);

/// Writes a text with one write() to a file opened with O_WRONLY and the flags given. Answers what
/// failed of open, write and close, else the bytes written.
Outcome write_text(const std::string& path, std::string_view text, int flags = 0);

/// Whether there is something of that path.
bool exists(const std::string& path);

/// The lines of a text, without their ends.
std::vector<std::string> lines_of(const std::string& text);

/// Whether a text has a line that is this one.
bool has_line(const std::string& text, std::string_view line);

} // namespace selftest
