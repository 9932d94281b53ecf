// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"

#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace selftest {

/// Kernel messages since the object was created.
class KernelLog {
public:
    KernelLog() { lseek(file_.number(), 0, SEEK_END); }

    /// Returns the messages that were not yet read.
    std::string read() {
        std::string text;
        char record[8192];
        for (ssize_t size; (size = ::read(file_.number(), record, sizeof(record))) > 0;)
            text.append(record, static_cast<std::size_t>(size));
        return text;
    }

private:
    Descriptor file_ = Descriptor::open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
};

} // namespace selftest
