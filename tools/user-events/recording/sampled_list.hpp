// SPDX-License-Identifier: GPL-2.0-or-later
// Of which events a rule with `sample=1/N` has made one record of N, see appended_list.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace tool::recording {

/// N, by the system and the name of the event.
using sampled_list = std::map<std::pair<std::string, std::string>, std::uint32_t>;

std::string to_text(const sampled_list& list);

/// Finds the list in the statistics, if it is there.
sampled_list to_sampled_list(std::string_view statistics);

} // namespace tool::recording
