// SPDX-License-Identifier: GPL-2.0-only
#include "slow_kernel.hpp"

#include "text_file.hpp"

namespace selftest {

unsigned fewer(unsigned number) {
    static const bool slow = exists("/sys/kernel/debug/kmemleak");
    return slow ? number / 10 : number;
}

} // namespace selftest
