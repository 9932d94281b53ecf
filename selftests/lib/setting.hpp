// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"
#include "text_file.hpp"

#include <string>
#include <utility>

namespace selftest {

/// Restores a file under /proc/sys or /sys to its previous value at the end of its lifetime.
class Setting {
public:
    /// Reads the present value. Throws std::system_error.
    explicit Setting(std::string path) : path_(std::move(path)), before_(read_text(path_)) {}
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;
    ~Setting() { write_text(path_, before_); }

    /// Writes a new value. Throws std::system_error.
    void set(std::string_view value) { expect(write_text(path_, value), path_); }

private:
    const std::string path_, before_;
};

} // namespace selftest
