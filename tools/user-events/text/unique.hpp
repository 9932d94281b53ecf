// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>
#include <set>
#include <string>

namespace tool::text {

/// The name if it is not taken yet, or else the name with a number. Takes it.
inline std::string unique(const std::string& name, std::set<std::string>& taken) {
    std::string result = name;
    for (int i = 2; !taken.insert(result).second; i++)
        result = fmt::format("{}_{}", name, i);
    return result;
}

} // namespace tool::text
