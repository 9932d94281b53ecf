// SPDX-License-Identifier: GPL-2.0-only
#include "kernel_module.hpp"

#include "descriptor.hpp"
#include "text_file.hpp"

#include <fcntl.h>
#include <sys/syscall.h>

namespace selftest {

Outcome load_kernel_module(const std::string& path, const std::string& parameters) {
    const Descriptor file = Descriptor::open(path, O_RDONLY);
    return Outcome::of(syscall(SYS_finit_module, file.number(), parameters.c_str(), 0));
}

void ensure_kernel_module(const std::string& file, const std::string& name) {
    if (!exists(file))
        expect(load_kernel_module("/modules/" + name + ".ko"), "load " + name + ".ko");
}

} // namespace selftest
