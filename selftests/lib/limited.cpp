// SPDX-License-Identifier: GPL-2.0-only
#include "limited.hpp"

#include <cstdlib>

namespace selftest {

std::string rule_text(const Event& event, const Instance& instance, const std::string& options,
                      const std::string& rest) {
    return event.name() + " instance=" + instance.name() + (options.empty() ? "" : " ") + options +
           rest;
}

unsigned long suppressed(const std::string& comment) {
    const std::string label = "suppressed ";
    const auto at = comment.find(label);
    return at == std::string::npos ? 0 : std::strtoul(&comment[at + label.size()], nullptr, 10);
}

} // namespace selftest
