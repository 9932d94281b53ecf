// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"
#include "outcome.hpp"
#include "user_events.hpp"

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace selftest {

inline const std::string device = "/dev/user_events/default";

inline DataFile open_device(int flags = O_RDWR) {
    return DataFile(Descriptor::open(device, flags));
}

/// Changes the owner of the device for the lifetime of the object, as a rule of udev does.
class GivenTo {
public:
    explicit GivenTo(uid_t user) {
        if (chown(device.c_str(), user, 0) != 0)
            throw_errno("chown");
    }
    GivenTo(const GivenTo&) = delete;
    GivenTo& operator=(const GivenTo&) = delete;
    ~GivenTo() {
        if (chown(device.c_str(), 0, 0) != 0)
            std::abort();
    }
};

} // namespace selftest
