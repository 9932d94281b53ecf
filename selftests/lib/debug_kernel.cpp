// SPDX-License-Identifier: GPL-2.0-only
#include "debug_kernel.hpp"

#include "text_file.hpp"

#include <algorithm>

namespace selftest {

unsigned fewer_if_debug(unsigned number, unsigned least) {
    static const bool slow = exists("/sys/kernel/debug/kmemleak");
    return slow ? std::max(number / 10, least) : number;
}

unsigned fewer_if_not_6_12(unsigned number, unsigned others) {
    static const bool all = read_text("/proc/sys/kernel/osrelease").starts_with("6.12.");
    return fewer_if_debug(all ? number : others);
}

} // namespace selftest
