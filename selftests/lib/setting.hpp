// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"
#include "text_file.hpp"

#include <string>
#include <utility>

namespace selftest {

/// A file of the kernel's settings, which says what it said before again after the object.
class Setting {
public:
    explicit Setting(std::string path) : path_(std::move(path)), before_(read_text(path_)) {}
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;
    ~Setting() { write_text(path_, before_); }

    void set(std::string_view value) { expect(write_text(path_, value), path_); }

private:
    const std::string path_, before_;
};

} // namespace selftest
