// SPDX-License-Identifier: GPL-2.0-or-later
// Which files the processes have mapped, and when: an address in a stack means nothing after its
// process has ended.
#pragma once

#include "tracing/mapping_table.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tool::tracing {

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

    /// Forgets what was known long ago, if much is known. To be called when all functions in the
    /// records of that time were looked up.
    void forget();

    const mapping_table& table() const noexcept { return table_; }

    /// How many of the kernel's messages were lost, because take() was not called for too long.
    std::uint64_t lost() const noexcept { return lost_; }

private:
    class ring;

    void use(std::string_view message);

    std::vector<std::unique_ptr<ring>> rings_;
    mapping_table table_;
    std::uint64_t lost_ = 0;
};

} // namespace tool::tracing
