// SPDX-License-Identifier: GPL-2.0-only
#include "descriptor.hpp"

#include <fcntl.h>

namespace selftest {

Descriptor Descriptor::open(const std::string& path, int flags) {
    int number = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (number < 0)
        throw_errno("open " + path);
    return Descriptor(number);
}

} // namespace selftest
