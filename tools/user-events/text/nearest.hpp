// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tool::text {

/// `did you mean "NAME"?`, with the name that is most like the mistyped one, and then the rest of
/// the advice; without a question if none is like it.
std::string did_you_mean(std::string_view mistyped, const std::vector<std::string>& names,
                         std::string_view rest = {});

} // namespace tool::text
