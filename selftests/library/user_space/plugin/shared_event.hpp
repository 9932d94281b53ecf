// SPDX-License-Identifier: GPL-2.0-only
// An event that a program and its plug-in have in common.
#pragma once

#include <user_events/user_events.hpp>

inline user_events::event<"shared", user_events::field<"value", std::uint32_t>> shared_event;
