// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <unistd.h>

namespace selftest {

/// Makes the process, which runs as root, act as another user without capabilities for the lifetime
/// of the object. Files that root has opened before stay usable.
class AsUser {
public:
    /// Throws std::system_error.
    explicit AsUser(uid_t user) {
        // The saved ID stays 0, so that the destructor can change back.
        if (setresuid(user, user, 0) != 0)
            throw_errno("setresuid");
    }
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;
    ~AsUser() {
        if (setresuid(0, 0, 0) != 0)
            _exit(1);
    }
};

} // namespace selftest
