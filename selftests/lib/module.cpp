// SPDX-License-Identifier: GPL-2.0-only
#include "module.hpp"

#include "kernel_module.hpp"
#include "text_file.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace selftest::module {

std::string path() {
    const char* path = getenv("USER_EVENTS_KO");
    return path ? path : "/user_events.ko";
}

bool is_loaded() {
    return exists("/sys/module/user_events");
}

Outcome load(const std::string& parameters) {
    return load_kernel_module(path(), parameters);
}

Outcome load_image(const std::string& image) {
    return Outcome::of(syscall(SYS_init_module, image.data(), image.size(), ""));
}

Outcome unload() {
    return Outcome::of(syscall(SYS_delete_module, "user_events", O_NONBLOCK));
}

bool unload_is_refused() {
    const Outcome outcome = unload();
    return outcome == fails(EWOULDBLOCK) || outcome == fails(EBUSY);
}

void Loaded::ensure() {
    if (!is_loaded())
        expect(load(), "load " + path());
}

} // namespace selftest::module
