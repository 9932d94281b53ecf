// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks that an instance records behind its records.
#pragma once

#include "recording/event_type.hpp"
#include "tracing/mappings.hpp"
#include "tracing/symbols.hpp"
#include "tracing/trace_dat.hpp"
#include "tracing/tracefs.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>

namespace tool::tracing {

/// Whose stacks are recorded.
struct wanted_stacks {
    bool is_user = false;
    bool is_kernel = false;

    bool is_any() const noexcept { return is_user || is_kernel; }
};

/// Stacks of an instance of the caller's own.
class stacks {
public:
    /// Has the instance record them. Throws text::failure if the kernel cannot.
    stacks(const instance& of, const wanted_stacks& wanted);

    /// Looks up what has been added to the files. To be called every now and then: what programs
    /// have had mapped long ago is forgotten.
    void take(const cpu_files& files);
    /// The functions in the stacks of the files, as the text that a file gets, see frame_list. To
    /// be called after all was recorded. After that, call take() with the files of the next part.
    std::string names(const cpu_files& files);

private:
    /// A function in a stack: its process, its address, and the mapping that has it.
    struct frame {
        int process;
        std::uint64_t address;
        std::shared_ptr<const mapping> where;

        auto operator<=>(const frame&) const = default;
        object file() const { return {where->path, where->inode, process}; }
        /// A return address is behind the call, which may be the last one of its function.
        std::uint64_t place() const noexcept { return address - 1 - where->start + where->offset; }
    };

    void find_frames(int file, std::size_t page_size, off_t& at);

    const instance& of_;
    std::optional<mappings> mappings_;
    std::unique_ptr<recording::event_type> event_;
    /// Of the present files: what was found in them, and how far.
    std::set<frame> frames_;
    std::map<int, off_t> ends_;
};

} // namespace tool::tracing
