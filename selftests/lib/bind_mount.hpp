// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"
#include "text_file.hpp"
#include "user_events.hpp"

#include <string>
#include <sys/mount.h>
#include <unistd.h>

namespace selftest {

/// A second path for a file.
class BindMount {
public:
    /// Throws std::system_error.
    explicit BindMount(const std::string& file) : path_("/tmp/" + unique_name("mounted")) {
        expect(write_text(path_, "", O_CREAT), path_);
        if (mount(file.c_str(), path_.c_str(), nullptr, MS_BIND, nullptr) != 0)
            throw_errno("bind " + file);
    }
    BindMount(const BindMount&) = delete;
    BindMount& operator=(const BindMount&) = delete;
    ~BindMount() {
        umount(path_.c_str());
        unlink(path_.c_str());
    }
    const std::string& path() const { return path_; }

private:
    const std::string path_;
};

} // namespace selftest
