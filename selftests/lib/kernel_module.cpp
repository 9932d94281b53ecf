// SPDX-License-Identifier: GPL-2.0-only
#include "kernel_module.hpp"

#include "descriptor.hpp"
#include "text_file.hpp"

#include <fcntl.h>
#include <sys/syscall.h>

namespace selftest {

void need_kernel_module(const std::string& file, const std::string& name) {
    if (exists(file))
        return;
    const Descriptor module = Descriptor::open("/modules/" + name + ".ko", O_RDONLY);
    expect(Outcome::of(syscall(SYS_finit_module, module.number(), "", 0)), "load " + name + ".ko");
}

} // namespace selftest
