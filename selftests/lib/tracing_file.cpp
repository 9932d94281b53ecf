// SPDX-License-Identifier: GPL-2.0-only
#include "tracefs.hpp"
#include "user_events.hpp"

#include <stdexcept>

namespace selftest {

std::string tracing_file(const std::string& name) {
    const char* directory = tracefs_tracing_dir();
    if (!directory)
        throw std::runtime_error("tracefs is not mounted");
    return std::string(directory) + "/" + name;
}

} // namespace selftest
