// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "loop_device.hpp"

#include <cstddef>

namespace selftest {

/// Space to swap to, in use as long as the object lives: a file of memory behind a loop device.
class SwapSpace {
public:
    explicit SwapSpace(std::size_t pages);
    SwapSpace(const SwapSpace&) = delete;
    SwapSpace& operator=(const SwapSpace&) = delete;
    ~SwapSpace();

private:
    LoopDevice device_;
};

} // namespace selftest
