// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <string>
#include <unistd.h>
#include <utility>

namespace selftest {

/// Owns a file descriptor.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() { close(); }

    /// Opens a path with O_CLOEXEC. Throws std::system_error.
    static Descriptor open(const std::string& path, int flags);

    int number() const { return number_; }
    void close() {
        if (number_ >= 0)
            ::close(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

} // namespace selftest
