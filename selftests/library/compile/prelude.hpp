// SPDX-License-Identifier: GPL-2.0-only
// What comes before each snippet of must_not_compile.
#include <user_events/user_events.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace ue = user_events;

inline ue::event<"order", ue::field<"number", std::uint32_t>, ue::field<"cents", std::uint32_t>,
                 ue::field<"item", std::string_view>>
    order;
