// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "loop_device.hpp"

#include <cstddef>

namespace selftest {

/// Swap space for the lifetime of the object: a memory file behind a loop device.
class SwapSpace {
public:
    /// Creates the space and swaps it on. Throws std::system_error.
    explicit SwapSpace(std::size_t pages);
    SwapSpace(const SwapSpace&) = delete;
    SwapSpace& operator=(const SwapSpace&) = delete;
    ~SwapSpace();

private:
    LoopDevice device_;
};

} // namespace selftest
