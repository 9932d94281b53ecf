// SPDX-License-Identifier: GPL-2.0-or-later
// Which files processes have had mapped, and when.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tool::tracing {

/// A part of a file that a process can execute.
struct mapping {
    std::uint64_t since; // of CLOCK_MONOTONIC; 0 if it was there before
    std::uint64_t start;
    std::uint64_t size;
    std::uint64_t offset; // in the file
    std::uint64_t inode;
    std::string path;
};

/// Processes come and end, and map files again and again. So what is known is forgotten in two
/// steps: the table remembers what it was told since renew() was last called, and since the call
/// before.
class mapping_table {
public:
    /// Mappings, by the numbers of their processes.
    using present_mappings = std::vector<std::pair<int, mapping>>;

    void add(int process, mapping added);
    /// The child has what its parent has had, until it maps something itself. Its number may have
    /// been that of another process.
    void fork(int child, int parent, std::uint64_t time);

    /// What a process has had at an address at a time; nullptr if it is not known.
    std::shared_ptr<const mapping> find(int process, std::uint64_t address,
                                        std::uint64_t time) const;

    /// Whether there is so much that renew() is due.
    bool is_full() const noexcept { return count_ > most_; }
    /// Forgets what was told before the previous call. `present` is what processes have mapped now.
    void renew(present_mappings&& present);

private:
    struct process {
        std::vector<std::shared_ptr<const mapping>> mapped;
        int parent = 0;
        std::uint64_t since = 0; // of the fork
    };
    using processes = std::map<int, process>;

    static std::shared_ptr<const mapping> find(const processes& in, int process,
                                               std::uint64_t address, std::uint64_t time);

    processes processes_, before_;
    std::size_t count_ = 0, most_ = 0;
};

} // namespace tool::tracing
