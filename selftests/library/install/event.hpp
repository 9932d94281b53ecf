// SPDX-License-Identifier: MIT
#pragma once

#include <user_events/user_events.hpp>

inline user_events::event<"installed", user_events::field<"number", int>> installed;

const void* address_in_other();
