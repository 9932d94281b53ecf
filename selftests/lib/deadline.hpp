// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <concepts>
#include <thread>

namespace selftest {

/// How long anything may take that the kernel does in its own time. An emulated machine is slow.
inline constexpr std::chrono::seconds patience{20};

/// Polls until the condition holds. Returns whether it did so before the deadline.
template <std::predicate Condition>
bool eventually(Condition&& condition, std::chrono::milliseconds limit = patience) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace selftest
