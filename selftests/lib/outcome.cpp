// SPDX-License-Identifier: GPL-2.0-only
#include "outcome.hpp"

#include <cstring>
#include <system_error>

namespace selftest {

std::ostream& operator<<(std::ostream& stream, const Outcome& outcome) {
    if (outcome.ok())
        return stream << "success " << outcome.value();
    const char* name = strerrorname_np(outcome.error());
    return stream << (name ? name : "errno " + std::to_string(outcome.error()));
}

void throw_errno(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

long expect(const Outcome& outcome, const std::string& what) {
    if (!outcome.ok())
        throw std::system_error(outcome.error(), std::generic_category(), what);
    return outcome.value();
}

} // namespace selftest
