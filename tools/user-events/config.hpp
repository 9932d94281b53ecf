// SPDX-License-Identifier: GPL-2.0-only
// Options from a file in TOML: a table for each command, with the names of its long options.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tool {

struct config_entry {
    std::string name;
    /// Several for an array. A Boolean is "true" or "false".
    std::vector<std::string> values;
};

/// The entries of the command's table; none if the file has no such table. Throws text::failure if
/// the file cannot be read, and text::usage_error if it is no such file.
std::vector<config_entry> read_config(const std::string& path, const std::string& command);

} // namespace tool
