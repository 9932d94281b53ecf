// SPDX-License-Identifier: GPL-2.0-only
// The numbers of the ioctls, as this program, of 32 or 64 bits, passes them to the kernel.
#pragma once

#include "user_events.hpp"

#include <set>
#include <sys/ioctl.h>

namespace selftest {

/// All ioctls of user_events_data and of the devices.
inline const std::set<unsigned long> ioctl_numbers{DIAG_IOCSREG, DIAG_IOCSDEL, DIAG_IOCSUNREG,
                                                   USER_EVENTS_SHARE_INDEXES};

/// Returns those numbers, of all with an argument of up to 16 bytes, that the file does not answer
/// with ENOTTY. No ioctl succeeds, because its argument is a null pointer.
inline std::set<unsigned long> answered_ioctl_numbers(DataFile& file) {
    std::set<unsigned long> answered;
    for (unsigned direction : {_IOC_NONE, _IOC_READ, _IOC_WRITE, _IOC_READ | _IOC_WRITE})
        for (unsigned number = 0; number < 1U << _IOC_NRBITS; number++)
            for (unsigned size = 0; size <= 16; size++) {
                const unsigned long request = _IOC(direction, DIAG_IOC_MAGIC, number, size);
                if (file.control(request, nullptr) != fails(ENOTTY))
                    answered.insert(request);
            }
    return answered;
}

} // namespace selftest
