// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <string>

namespace selftest::module {

/// The module's file: what USER_EVENTS_KO names, or /user_events.ko.
std::string path();

bool is_loaded();

Outcome load();

/// Loads what is not the file: bytes of it that somebody has changed, perhaps.
Outcome load_image(const std::string& image);

/// Does not wait for what is in use.
Outcome unload();

/// Loads the module where it is not loaded, or throws std::system_error. Loads it again at the end,
/// for who comes next.
class Loaded {
public:
    Loaded() { ensure(); }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    ~Loaded() {
        if (!is_loaded())
            load();
    }
    static void ensure();
};

} // namespace selftest::module
