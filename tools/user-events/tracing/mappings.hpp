// SPDX-License-Identifier: GPL-2.0-or-later
// Which files the processes have mapped, and when: an address in a stack means nothing after its
// process has ended.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

/// The mappings of all processes while the object exists, as perf's events tell them.
class mappings {
public:
    /// Throws text::failure if the kernel does not tell.
    mappings();
    mappings(const mappings&) = delete;
    mappings& operator=(const mappings&) = delete;
    ~mappings();

    /// Takes what the kernel has told so far. To be called every now and then.
    void take();

    /// What a process has had at an address at a time; nullptr if it is not known.
    const mapping* find(int process, std::uint64_t address, std::uint64_t time) const;

    /// How many of the kernel's messages were lost, because take() was not called for too long.
    std::uint64_t lost() const noexcept { return lost_; }

private:
    struct process {
        std::vector<mapping> mapped;
        int parent = 0;
        std::uint64_t since = 0; // of the fork
    };
    class ring;

    void read_present();
    void use(std::string_view message);

    std::vector<std::unique_ptr<ring>> rings_;
    std::map<int, process> processes_;
    std::uint64_t lost_ = 0;
};

} // namespace tool::tracing
