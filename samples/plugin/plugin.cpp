// SPDX-License-Identifier: MIT
//
// A plug-in with an event. The event is registered when the host loads the plug-in, and
// unregistered when the host unloads the plug-in.
//
// An `inline` variable of default visibility is one variable for the whole process. g++ then never
// unloads the library. So the event is static, or the library is built with -fvisibility=hidden.
#include "plugin.hpp"

#include <user_events/user_events.hpp>

static user_events::event<"plugin_greets", user_events::field<"name", const char*>> greets;

void greet(const char* name) {
    greets(name);
}
