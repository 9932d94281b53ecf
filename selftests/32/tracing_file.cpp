// SPDX-License-Identifier: GPL-2.0-only
// tracing_file() without libtracefs, which cannot be installed for 32 and 64 bits at once.
#include "text_file.hpp"
#include "user_events.hpp"

#include <stdexcept>

namespace selftest {

std::string tracing_file(const std::string& name) {
    const std::string directory = "/sys/kernel/tracing/";
    if (!exists(directory + "events"))
        throw std::runtime_error("tracefs is not mounted");
    return directory + name;
}

} // namespace selftest
