// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "descriptor.hpp"

#include <string>

namespace selftest {

/// A loop device for the lifetime of the object.
class LoopDevice {
public:
    /// Attaches `file` to a free loop device. Throws std::system_error.
    explicit LoopDevice(const Descriptor& file);
    LoopDevice(const LoopDevice&) = delete;
    LoopDevice& operator=(const LoopDevice&) = delete;
    ~LoopDevice();

    const std::string& path() const { return path_; }
    int descriptor() const { return device_.number(); }

private:
    std::string path_;
    Descriptor device_;
};

} // namespace selftest
