// SPDX-License-Identifier: GPL-2.0-or-later
// The names of the functions in programs and libraries.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace tool::tracing {

/// A file as a process sees it, and its inode, so that no other is taken for it.
struct object {
    std::string path;
    std::uint64_t inode;
    /// A process that has the file mapped. While it runs, the path is that in its root directory.
    int process;

    bool operator<(const object& other) const {
        return std::tie(path, inode) < std::tie(other.path, other.inode);
    }
};

/// Places in files, counted in bytes from the beginning, and the names of the functions there:
/// `cook+0x1f`. Those that have none are left out.
using wanted_places = std::map<object, std::set<std::uint64_t>>;
using named_places = std::map<std::pair<object, std::uint64_t>, std::string>;

/// Reads the tables of symbols. The files may have any bytes: a process in the sandbox reads them.
named_places find_symbols(const wanted_places& wanted);

} // namespace tool::tracing
