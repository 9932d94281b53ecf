// SPDX-License-Identifier: GPL-2.0-only
// Catch2: version 2 in Debian 12, version 3 in later releases.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

#include <string>

// What version 3 has renamed.
namespace Catch {
using Matchers::StartsWith;
using TestEventListenerBase = EventListenerBase;
inline auto Contains(const std::string& text) {
    return Matchers::ContainsSubstring(text);
}
} // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
