// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks: what ftrace records behind a record, and the names of its functions.
#pragma once

#include "recording/event_type.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool::recording {

/// Where a function was called: `cook+0x1f (/usr/bin/orders)`, or the address if no more is known.
/// The innermost one comes first.
using stack = std::vector<std::string>;

/// The field that exports have for the stack.
inline constexpr const char* stack_field = "stack";

/// Of functions of programs, by process and address: since when the address has the name.
using frame_list = std::map<std::pair<int, std::uint64_t>, std::map<std::uint64_t, std::string>>;

/// Like the lists in appended_list.hpp. A recording with stacks has it even if it is empty.
std::string to_text(const frame_list& list);
bool has_frame_list(std::string_view statistics);
frame_list to_frame_list(std::string_view statistics);

/// The functions from the outermost one to the innermost one, with semicolons between: what makers
/// of flame graphs take.
std::string folded(const stack& stack);

/// The functions of a kernel.
class kernel_functions {
public:
    /// From the text of /proc/kallsyms, any part of which may be damaged.
    explicit kernel_functions(std::string_view text);

    /// `vfs_write+0xc1`, or nothing.
    std::optional<std::string> find(std::uint64_t address) const;

private:
    std::vector<std::pair<std::uint64_t, std::string>> functions_;
};

/// Whether these are the records that ftrace's options stacktrace and userstacktrace make.
bool is_stack(const event_type& event);

/// The addresses in such a record, which may have any bytes.
std::vector<std::uint64_t> stack_addresses(const event_type& event, bytes record);
/// The process of a program's stack; 0 for a stack of the kernel.
int stack_process(const event_type& event, bytes record);

/// Names the functions in the stacks of a recording.
class stack_reader {
public:
    /// Returns the text of /proc/kallsyms that the recording has. Called at most once, for the
    /// first stack of the kernel.
    using functions_source = std::function<std::string()>;

    stack_reader(frame_list frames, functions_source functions)
        : frames_(std::move(frames)), source_(std::move(functions)) {}

    /// Appends the functions in a record of a stack that was made at this time, as its clock has
    /// it.
    void append(stack& to, const event_type& event, bytes record, std::uint64_t time);

private:
    std::string name_of(int process, std::uint64_t address, std::uint64_t time) const;

    frame_list frames_;
    functions_source source_;
    std::optional<kernel_functions> functions_;
};

} // namespace tool::recording
