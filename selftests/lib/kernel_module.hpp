// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <string>

namespace selftest {

/// Loads a module from a file, with parameters such as "a=1 b=2", and returns the result. Throws
/// std::system_error if the file cannot be opened.
Outcome load_kernel_module(const std::string& path, const std::string& parameters = {});

/// Loads one of the kernel's own modules from /modules, unless it is built in or loaded already:
/// then `file`, which the module creates, exists. Throws std::system_error.
void ensure_kernel_module(const std::string& file, const std::string& name);

} // namespace selftest
