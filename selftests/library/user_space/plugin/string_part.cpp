// SPDX-License-Identifier: GPL-2.0-only
// A part of the test with the old class std::string of libstdc++.
#include <string>
#include <user_events/user_events.hpp>

static_assert(!_GLIBCXX_USE_CXX11_ABI);

extern "C" void record_string_in_part(const char* text) {
    static const user_events::event<"old_string", user_events::field<"item", std::string>> event;
    event(std::string(text));
}
