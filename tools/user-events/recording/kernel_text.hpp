// SPDX-License-Identifier: GPL-2.0-or-later
// The text in ftrace's own events, which have addresses of functions and texts of the kernel.
#pragma once

#include "recording/event_type.hpp"
#include "recording/stack.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tool::recording {

/// The names and texts of a kernel, read when the first record needs them.
class kernel_texts {
public:
    using source = std::function<std::string()>;

    /// The sources return the texts of /proc/kallsyms and of tracefs' printk_formats, any part of
    /// which may be damaged.
    kernel_texts(source functions, source formats)
        : function_source_(std::move(functions)), format_source_(std::move(formats)) {}

    /// Changes the fields of an event that have such an address: they are texts then. Returns
    /// whether there were any.
    static bool name_fields(event_type& event);

    /// Appends the texts to a record, and has its fields point to them. The record may have any
    /// bytes.
    void name(const event_type& event, std::vector<std::byte>& record);

    const kernel_functions& functions();

private:
    std::string function_at(std::uint64_t address);
    std::string format_at(std::uint64_t address);
    std::string pointer(std::uint64_t address, char letter);
    std::string formatted(std::string_view format, bytes values, unsigned long_size);

    source function_source_;
    source format_source_;
    std::optional<kernel_functions> functions_;
    std::optional<std::map<std::uint64_t, std::string>> formats_;
};

} // namespace tool::recording
