// SPDX-License-Identifier: GPL-2.0-only
#include "module.hpp"

#include "descriptor.hpp"
#include "text_file.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <sys/syscall.h>

namespace selftest::module {

std::string path() {
    const char* path = getenv("USER_EVENTS_KO");
    return path ? path : "/user_events.ko";
}

bool is_loaded() {
    return exists("/sys/module/user_events");
}

Outcome load() {
    const Descriptor file = Descriptor::open(path(), O_RDONLY);
    return Outcome::of(syscall(SYS_finit_module, file.number(), "", 0));
}

Outcome load_image(const std::string& image) {
    return Outcome::of(syscall(SYS_init_module, image.data(), image.size(), ""));
}

Outcome unload() {
    return Outcome::of(syscall(SYS_delete_module, "user_events", O_NONBLOCK));
}

void Loaded::ensure() {
    if (!is_loaded())
        expect(load(), "load " + path());
}

} // namespace selftest::module
