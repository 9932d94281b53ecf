// SPDX-License-Identifier: GPL-2.0-only
#include "debug_kernel.hpp"

#include "text_file.hpp"

#include <algorithm>

namespace selftest {

unsigned fewer_if_debug(unsigned number, unsigned least) {
    static const bool slow = exists("/sys/kernel/debug/kmemleak");
    return slow ? std::max(number / 10, least) : number;
}

} // namespace selftest
