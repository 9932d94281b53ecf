// SPDX-License-Identifier: GPL-2.0-only
#include "shared_event.hpp"

extern "C" [[gnu::visibility("default")]] void record_in_plugin(std::uint32_t value) {
    shared_event(value);
}
extern "C" [[gnu::visibility("default")]] bool is_enabled_in_plugin() {
    return bool(shared_event);
}
