// SPDX-License-Identifier: MIT
//
// Loads a plug-in, calls it and unloads it, several times.
//
//	plugin_host PLUGIN [TIMES]
#include <user_events/user_events.hpp>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

static user_events::event<"host_loads", user_events::field<"file", const char*>> loads;

int main(int argc, char* argv[]) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: plugin_host PLUGIN [TIMES]\n");
        return 2;
    }
    const int times = argc > 2 ? std::atoi(argv[2]) : 1;
    for (int i = 0; i < times; i++) {
        loads(argv[1]);
        void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            std::fprintf(stderr, "plugin_host: %s\n", dlerror());
            return 1;
        }
        const auto greet = reinterpret_cast<void (*)(const char*)>(dlsym(plugin, "greet"));
        if (greet)
            greet("world");
        dlclose(plugin);
        // dlclose() has unloaded the plug-in, and the plug-in has unregistered its event. So the
        // kernel writes no bit into the plug-in's memory.
        if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
            std::fprintf(stderr, "plugin_host: %s is still loaded\n", argv[1]);
            return 1;
        }
    }
}
