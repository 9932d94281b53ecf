// SPDX-License-Identifier: GPL-2.0-only
// An event that a program and its plug-in have in common.
#pragma once

#include <user_events/user_events.hpp>

inline user_events::event<"shared", user_events::field<"value", std::uint32_t>> shared_event;

#ifdef WITH_TEMPLATE
/// g++ does not let the names of these tell the layout.
template <typename T>
inline user_events::event<"shared_template", user_events::field<"value", T>> shared_template;
#endif
