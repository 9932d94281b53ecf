// SPDX-License-Identifier: GPL-2.0-only
#include "slow_kernel.hpp"

#include "text_file.hpp"

#include <algorithm>

namespace selftest {

unsigned fewer(unsigned number, unsigned least) {
    static const bool slow = exists("/sys/kernel/debug/kmemleak");
    return slow ? std::max(number / 10, least) : number;
}

} // namespace selftest
