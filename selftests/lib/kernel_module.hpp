// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "outcome.hpp"

#include <string>

namespace selftest {

/// Loads a module from its file; throws std::system_error where there is none.
Outcome load_kernel_module(const std::string& path);

/// Loads a module of the kernel's own unless a file that it makes is there: not every kernel has it
/// built in. The module is where selftests/vm/run puts it.
void need_kernel_module(const std::string& file, const std::string& name);

} // namespace selftest
