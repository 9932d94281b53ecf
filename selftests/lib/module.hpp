// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <string>

namespace selftest::module {

/// Returns the path of the module's file: $USER_EVENTS_KO, or /user_events.ko.
std::string path();

/// Returns whether user_events is loaded.
bool is_loaded();

/// Loads the module from its file, with parameters such as `rules="..."`. Throws std::system_error
/// if the file cannot be opened.
Outcome load(const std::string& parameters = {});

/// Loads a module from memory, such as a modified copy of the file.
Outcome load_image(const std::string& image);

/// Unloads the module. Fails at once if it is in use.
Outcome unload();

/// Tries to unload the module. Returns whether that failed because the module is in use.
bool unload_is_refused();

/// For a test that unloads the module: its constructor and its destructor load the module if it is
/// not loaded.
class Loaded {
public:
    Loaded() { ensure(); }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
    ~Loaded() {
        if (!is_loaded())
            load();
    }
    /// Loads the module if it is not loaded. Throws std::system_error.
    static void ensure();
};

} // namespace selftest::module
