// SPDX-License-Identifier: GPL-2.0-or-later
// Options from a file in TOML: a table for each command, with the names of its long options.
#pragma once

#include "cli.hpp"

namespace tool {

/// The entries of the command's table; none if the file has no such table. Throws text::usage_error
/// if the file cannot be read or is no such file. `commands` are those that may have a table.
std::vector<config_entry> read_config(const std::string& path, const std::string& command,
                                      const std::vector<std::string>& commands);

} // namespace tool
